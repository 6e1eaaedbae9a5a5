package patch

import (
	"bytes"
	"encoding/json"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kjson "sigs.k8s.io/json"
)

func applyMerge(current, patch []byte, lenient bool) (next []byte, strict []string, err error) {
	if !lenient {
		if strict, err = decodeStrict(patch, &map[string]any{}, ""); err != nil {
			return nil, nil, err
		}
	}
	change, err := decodeNumbers(patch)
	if err != nil {
		return nil, nil, errNotMergePatch()
	}
	var result any
	switch change := change.(type) {
	case map[string]any:
		result = mergeText(current, change, textLevels)
	case []any:
		result = withoutNulls(change)
	default:
		return nil, nil, errNotMergePatch()
	}
	next, err = json.Marshal(result)
	return next, strict, err
}

// DecodeMerge decodes a merge patch for Merge. It returns false for a patch for which Apply reports errors or
// warnings: one that is not an object, cannot be decoded, or, unless lenient is set, contains duplicate
// fields.
func DecodeMerge(patch []byte, lenient bool) (change map[string]any, plain bool) {
	if lenient {
		err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &change)
		return change, err == nil && change != nil
	}
	strict, err := kjson.UnmarshalStrict(patch, &change)
	return change, err == nil && len(strict) == 0 && change != nil
}

// Merge applies a merge patch to a decoded object, with the same result as Apply. It modifies current. It
// takes ownership of change, and current shares memory with it afterwards.
func Merge(current, change map[string]any) { merge(current, change) }

// errNotMergePatch returns the 400 for a patch that is not JSON, or neither an object nor a list.
func errNotMergePatch() error { return apierrors.NewBadRequest("Invalid JSON Patch") }

// decodeNumbers decodes JSON, preserving the text of numbers.
func decodeNumbers(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNotMergePatch()
	}
	return value, nil
}

// textLevels is the number of levels on which mergeText leaves values as JSON. Each level scans the JSON
// again, so that values below this depth, which real objects do not reach, are decoded at once.
const textLevels = 16

// mergeText merges a patch into an object, of which it decodes only the fields that the patch changes.
func mergeText(current json.RawMessage, patch map[string]any, levels int) any {
	if levels == 0 {
		was, err := decodeNumbers(current)
		if err != nil {
			return withoutNulls(patch)
		}
		return merge(was, patch)
	}
	var was map[string]json.RawMessage
	if json.Unmarshal(current, &was) != nil || was == nil {
		return withoutNulls(patch)
	}
	is := make(map[string]any, len(was)+len(patch))
	for name, value := range was {
		is[name] = value
	}
	for name, value := range patch {
		change, deeper := value.(map[string]any)
		switch text, found := was[name]; {
		case value == nil:
			delete(is, name)
		case deeper && found:
			is[name] = mergeText(text, change, levels-1)
		case found && isObject(text):
			is[name] = value
		default:
			is[name] = withoutNulls(value)
		}
	}
	return is
}

// isObject reports whether JSON is an object.
func isObject(text json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// merge implements RFC 7386 on decoded JSON. It modifies both arguments. Its time is linear in their size,
// regardless of their depth. Like Kubernetes' library, and unlike the RFC, it also removes nulls from objects
// in a list, unless the list replaces an object.
func merge(current, patch any) any {
	was, ok := current.(map[string]any)
	if !ok {
		return withoutNulls(patch)
	}
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	for name, value := range change {
		if value == nil {
			delete(was, name)
			continue
		}
		was[name] = merge(was[name], value)
	}
	return was
}

// withoutNulls removes null fields from a value, at all depths.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inside := range v {
			if inside == nil {
				delete(v, name)
				continue
			}
			withoutNulls(inside)
		}
	case []any:
		for _, inside := range v {
			withoutNulls(inside)
		}
	}
	return value
}
