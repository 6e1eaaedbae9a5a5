package patch

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Limits on the work of a JSON Patch, which its length and the number of its operations do not bound.
const (
	// maxCopied is the number of bytes of JSON that all copy operations together may add, as in Kubernetes. Each copy
	// may double the object.
	maxCopied = 3 << 20
	// maxMoved is the number of bytes that all insertions and removals in lists together may move.
	maxMoved = 1 << 30
)

const itemSize = 16 // bytes of an item of a []any

// Steps applies a decoded JSON Patch. It takes time proportional to the object and the patch, up to the limits above,
// and has the results and the errors of the library, whose operations take time proportional to the object for each
// level of their paths. The error is not a metav1 Status: its meaning depends on the origin of the patch.
func Steps(steps jsonpatch.Patch, current []byte) (next []byte, err error) {
	if len(current) == 0 {
		return current, nil
	}
	d := &document{}
	if d.root, err = decodeFields(current); err != nil {
		return nil, err
	}
	for _, s := range steps {
		if err := d.apply(s); err != nil {
			return nil, err
		}
	}
	return json.Marshal(d.root)
}

// decodeFields decodes an object, but not its fields, so that those that no step touches stay as they are in the texts
// of errors. It decodes other values entirely.
func decodeFields(text []byte) (any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return decodeNumbers(text)
	}
	root := make(map[string]any, len(fields))
	for name, field := range fields {
		root[name] = field
	}
	return root, nil
}

// document is a decoded JSON document that a JSON Patch changes.
type document struct {
	root   any
	copied int // bytes
	moved  int // bytes
}

func (d *document) apply(s jsonpatch.Operation) error {
	switch kind := s.Kind(); kind {
	case "add":
		return d.add(s)
	case "remove":
		return d.remove(s)
	case "replace":
		return d.replace(s)
	case "move":
		return d.move(s)
	case "copy":
		return d.copy(s)
	case "test":
		return d.test(s)
	default:
		//lint:ignore ST1005 the text is Kubernetes'
		return fmt.Errorf("Unexpected kind: %s", kind)
	}
}

func (d *document) add(s jsonpatch.Operation) error {
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("add operation failed to decode path: %w", jsonpatch.ErrMissing)
	}
	value, err := valueOf(s)
	if err != nil {
		return err
	}
	found, err := d.edit(path, func(in any, key string) (any, error) { return d.insert(in, key, value) })
	if !found {
		return fmt.Errorf("add operation does not apply: doc is missing path: %q: %w", path, jsonpatch.ErrMissing)
	}
	return wrap(err, "error in add for path: '%s': %w", path)
}

func (d *document) remove(s jsonpatch.Operation) error {
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("remove operation failed to decode path: %w", jsonpatch.ErrMissing)
	}
	found, err := d.edit(path, d.cut)
	if !found {
		return fmt.Errorf("remove operation does not apply: doc is missing path: %q: %w", path, jsonpatch.ErrMissing)
	}
	return wrap(err, "error in remove for path: '%s': %w", path)
}

// replace also adds a key that an object does not have, like the library.
func (d *document) replace(s jsonpatch.Operation) error {
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("replace operation failed to decode path: %w", err)
	}
	value, err := valueOf(s)
	if err != nil {
		return err
	}
	if path == "" {
		if !isContainer(value) {
			return errors.New("replace operation value must be object or array")
		}
		d.root = value
		return nil
	}
	found, err := d.edit(path, func(in any, key string) (any, error) {
		list, isList := in.([]any)
		if !isList {
			in.(map[string]any)[key] = value
			return in, nil
		}
		at, err := index(key, len(list))
		if err != nil {
			return nil, err
		}
		list[at] = value
		return in, nil
	})
	if !found {
		return fmt.Errorf("replace operation does not apply: doc is missing path: %s: %w", path, jsonpatch.ErrMissing)
	}
	if err != nil {
		return fmt.Errorf("replace operation does not apply: doc is missing key: %s: %w", path, jsonpatch.ErrMissing)
	}
	return nil
}

func (d *document) move(s jsonpatch.Operation) error {
	from, err := s.From()
	if err != nil {
		return fmt.Errorf("move operation failed to decode from: %w", err)
	}
	var value any
	found, err := d.edit(from, func(in any, key string) (any, error) {
		if value, err = get(in, key); err != nil {
			return nil, err
		}
		return d.cut(in, key)
	})
	if !found {
		return fmt.Errorf("move operation does not apply: doc is missing from path: %s: %w", from, jsonpatch.ErrMissing)
	}
	if err != nil {
		return fmt.Errorf("error in move for path: '%s': %w", lastKey(from), err)
	}
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("move operation failed to decode path: %w", err)
	}
	found, err = d.edit(path, func(in any, key string) (any, error) { return d.insert(in, key, value) })
	if !found {
		return fmt.Errorf("move operation does not apply: doc is missing destination path: %s: %w", path,
			jsonpatch.ErrMissing)
	}
	return wrap(err, "error in move for path: '%s': %w", path)
}

func (d *document) copy(s jsonpatch.Operation) error {
	from, err := s.From()
	if err != nil {
		return fmt.Errorf("copy operation failed to decode from: %w", err)
	}
	found, value, err := d.find(from)
	if !found {
		return fmt.Errorf("copy operation does not apply: doc is missing from path: %s: %w", from, jsonpatch.ErrMissing)
	}
	if err != nil {
		return fmt.Errorf("error in copy for from: '%s': %w", from, err)
	}
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("copy operation failed to decode path: %w", jsonpatch.ErrMissing)
	}
	found, err = d.edit(path, func(in any, key string) (any, error) {
		duplicate, err := d.duplicate(value)
		if err != nil {
			return nil, err
		}
		return d.insert(in, key, duplicate)
	})
	if !found {
		return fmt.Errorf("copy operation does not apply: doc is missing destination path: %s: %w", path,
			jsonpatch.ErrMissing)
	}
	if errors.Is(err, errCopiesTooMuch) {
		return err
	}
	if err != nil {
		return fmt.Errorf("error while adding value during copy: %w", err)
	}
	return nil
}

func (d *document) test(s jsonpatch.Operation) error {
	path, err := s.Path()
	if err != nil {
		return fmt.Errorf("test operation failed to decode path: %w", err)
	}
	want, err := valueOf(s)
	if err != nil {
		return err
	}
	found, value := true, d.root
	if path != "" {
		found, value, err = d.find(path)
	} else if fields, ok := value.(map[string]any); ok {
		for name := range fields {
			get(fields, name) // decodes it
		}
	}
	switch {
	case !found:
		return fmt.Errorf("test operation does not apply: is missing path: %s: %w", path, jsonpatch.ErrMissing)
	case err != nil:
		return fmt.Errorf("error in test for path: '%s': %w", path, err)
	case !equal(value, want):
		return fmt.Errorf("testing value %s failed: %w", path, jsonpatch.ErrTestFailed)
	}
	return nil
}

// wrap adds a path to an error that is not nil.
func wrap(err error, format, path string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format, path, err)
}

// valueOf returns the decoded value of an operation, nil if there is none.
func valueOf(s jsonpatch.Operation) (any, error) {
	raw := s["value"]
	if raw == nil {
		return nil, nil
	}
	return decodeNumbers(*raw)
}
