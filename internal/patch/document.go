package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

var (
	errMovesTooMuch  = fmt.Errorf("the operations of the JSON patch move more than %d bytes of list items", maxMoved)
	errCopiesTooMuch = fmt.Errorf("the copy operations of the JSON patch enlarge the object by more than %d bytes", maxCopied)
)

// unescape decodes a key of a JSON Pointer (RFC 6901).
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// lastKey returns the last key of a path.
func lastKey(path string) string { return unescape.Replace(path[strings.LastIndexByte(path, '/')+1:]) }

// edit replaces the object or list that contains the last key of a path by the result of f. found is false if there is
// none.
func (d *document) edit(path string, f func(in any, key string) (any, error)) (found bool, err error) {
	_, keys, ok := strings.Cut(path, "/") // what comes before the first slash is ignored
	if !ok {
		return false, nil
	}
	node, replace := d.root, func(next any) { d.root = next }
	for {
		key, rest, more := strings.Cut(keys, "/")
		if !more {
			break
		}
		keys, key = rest, unescape.Replace(key)
		in := node
		if node, err = get(in, key); err != nil {
			return false, nil
		}
		replace = func(next any) { put(in, key, next) }
	}
	if !isContainer(node) {
		return false, nil
	}
	next, err := f(node, lastKey(path))
	if err == nil {
		replace(next)
	}
	return true, err
}

// find returns the value at a path. found is false if the object or list that would contain it is absent; a key that an
// object does not have is nil.
func (d *document) find(path string) (found bool, value any, err error) {
	found, err = d.edit(path, func(in any, key string) (any, error) {
		value, err = get(in, key)
		return in, err
	})
	return found, value, err
}

// insert adds a value to an object or a list.
func (d *document) insert(in any, key string, value any) (any, error) {
	list, isList := in.([]any)
	if !isList {
		in.(map[string]any)[key] = value
		return in, nil
	}
	if key == "-" {
		return append(list, value), nil
	}
	at, err := strconv.Atoi(key)
	if err != nil {
		return nil, fmt.Errorf("value was not a proper array index: '%s': %w", key, err)
	}
	if at, err = inRange(at, len(list)+1); err != nil {
		return nil, err
	}
	if err := d.moves(len(list) - at); err != nil {
		return nil, err
	}
	return slices.Insert(list, at, value), nil
}

// cut removes a value from an object or a list.
func (d *document) cut(in any, key string) (any, error) {
	list, isList := in.([]any)
	if !isList {
		fields := in.(map[string]any)
		if _, ok := fields[key]; !ok {
			//lint:ignore ST1005 the text is Kubernetes'
			return nil, fmt.Errorf("Unable to remove nonexistent key: %s: %w", key, jsonpatch.ErrMissing)
		}
		delete(fields, key)
		return in, nil
	}
	at, err := index(key, len(list))
	if err != nil {
		return nil, err
	}
	if err := d.moves(len(list) - at); err != nil {
		return nil, err
	}
	return slices.Delete(list, at, at+1), nil
}

// moves counts the items of a list that an operation moves.
func (d *document) moves(items int) error {
	if d.moved += items * itemSize; d.moved > maxMoved {
		return errMovesTooMuch
	}
	return nil
}

// duplicate returns a copy of a value, and counts its bytes in JSON.
func (d *document) duplicate(value any) (any, error) {
	const separators = 2 // a comma, and a colon or a bracket
	d.copied += separators
	switch v := value.(type) {
	case string:
		d.copied += len(v)
	case json.Number:
		d.copied += len(v)
	case map[string]any:
		next := make(map[string]any, len(v))
		for key, field := range v {
			d.copied += len(key)
			var err error
			if next[key], err = d.duplicate(field); err != nil {
				return nil, err
			}
		}
		value = next
	case []any:
		next := make([]any, len(v))
		for i, item := range v {
			var err error
			if next[i], err = d.duplicate(item); err != nil {
				return nil, err
			}
		}
		value = next
	}
	if d.copied > maxCopied {
		return nil, errCopiesTooMuch
	}
	return value, nil
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// get returns a value of an object, nil if it has none, or of a list.
func get(in any, key string) (any, error) {
	switch v := in.(type) {
	case map[string]any:
		if raw, ok := v[key].(json.RawMessage); ok { // see decodeFields
			field, err := decodeNumbers(raw)
			if err != nil {
				return nil, err
			}
			v[key] = field
		}
		return v[key], nil
	case []any:
		at, err := index(key, len(v))
		if err != nil {
			return nil, err
		}
		return v[at], nil
	}
	return nil, jsonpatch.ErrInvalid
}

// put replaces a value of an object or list that has it.
func put(in any, key string, value any) {
	switch v := in.(type) {
	case map[string]any:
		v[key] = value
	case []any:
		if at, err := index(key, len(v)); err == nil {
			v[at] = value
		}
	}
}

// index returns the index of an item of a list. A negative index counts from the end of the list.
func index(key string, length int) (int, error) {
	at, err := strconv.Atoi(key)
	if err != nil {
		return 0, err
	}
	return inRange(at, length)
}

func inRange(at, length int) (int, error) {
	if at >= length || at < -length {
		//lint:ignore ST1005 the text is Kubernetes'
		return 0, fmt.Errorf("Unable to access invalid index: %d: %w", at, jsonpatch.ErrInvalidIndex)
	}
	if at < 0 {
		at += length
	}
	return at, nil
}

// equal reports whether two decoded values are the same. Numbers are the same if their texts are.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return !isContainer(b) && a == b
}
