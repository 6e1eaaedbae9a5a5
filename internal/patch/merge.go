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
		return nil, nil, errNoMergePatch()
	}
	var result any
	switch change := change.(type) {
	case map[string]any:
		result = mergeText(current, change, textLevels)
	case []any:
		result = withoutNulls(change)
	default:
		return nil, nil, errNoMergePatch()
	}
	next, err = json.Marshal(result)
	return next, strict, err
}

// ReadMerge reads a merge patch whose object is at hand as maps, for Merge. plain is false for a patch that Apply has something
// to say of: one that is no object, cannot be read, or, unless it is to be lenient, has fields that stand twice.
func ReadMerge(patch []byte, lenient bool) (change map[string]any, plain bool) {
	if lenient {
		err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &change)
		return change, err == nil && change != nil
	}
	strict, err := kjson.UnmarshalStrict(patch, &change)
	return change, err == nil && len(strict) == 0 && change != nil
}

// Merge makes of an object what Apply makes of its text. It changes current, and keeps parts of the change, which it changes too.
func Merge(current, change map[string]any) { merge(current, change) }

// errNoMergePatch is the 400 of a patch that is not JSON, or neither an object nor a list.
func errNoMergePatch() error { return apierrors.NewBadRequest("Invalid JSON Patch") }

// decodeNumbers reads all of a JSON text, with its numbers as they are written.
func decodeNumbers(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNoMergePatch()
	}
	return value, nil
}

// textLevels is how deep a merge leaves what the patch does not name as the text that it is. Each level goes over the
// text once more, so that below these, where no real object is, all is decoded.
const textLevels = 16

// mergeText merges a patch into an object, of which only the fields on the patch's way are decoded.
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
		switch text, there := was[name]; {
		case value == nil:
			delete(is, name)
		case deeper && there:
			is[name] = mergeText(text, change, levels-1)
		case there && isObject(text):
			is[name] = value
		default:
			is[name] = withoutNulls(value)
		}
	}
	return is
}

// isObject says whether a JSON text is an object.
func isObject(text json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// merge is RFC 7386 on decoded JSON, which it may change; the time that it takes grows with the texts alone, however
// deep they are nested. Like the library of Kubernetes, and unlike the RFC, it takes the nulls out of objects in a list
// too, unless the list stands in the place of an object.
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

// withoutNulls takes fields that are null out of a value and all that is in it.
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
