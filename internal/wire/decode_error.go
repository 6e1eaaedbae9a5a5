package wire

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// DecodeError reports that an object from the server does not fit the Go type it is decoded into: for
// example, the schema of a custom resource has a string where the Go struct has an int32.
type DecodeError struct {
	Object string // kind, namespace and name, as far as they could be read
	Type   string // the Go type
	Field  string // path of the field, such as spec.ports[2].port; empty if the error is not about a field
	Value  string // the field's JSON, shortened
	Err    error  // the cause; not nil
}

// Error names the object, the field and its value, and the cause.
func (e *DecodeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("reading %s into a %s: %v", e.Object, e.Type, e.Err)
	}
	return fmt.Sprintf("reading %s into a %s: field %s is %s: %v", e.Object, e.Type, e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// NewDecodeError returns a DecodeError that names the part of the JSON that does not fit obj.
func NewDecodeError(data []byte, obj any, err error) error {
	e := &DecodeError{Object: NameOf(data), Type: fmt.Sprintf("%T", obj), Err: err}
	if start := strings.TrimSpace(string(data[:min(len(data), 200)])); !strings.HasPrefix(start, "{") {
		e.Object = "the answer"
		e.Err = fmt.Errorf("not a Kubernetes object: it starts with %s", shorten([]byte(strconv.Quote(start))))
		return e
	}
	if !json.Valid(data) {
		return e
	}
	if found := (&search{left: mostSearched}).misfit(data, reflect.TypeOf(obj)); found != nil {
		e.Field, e.Value = strings.TrimPrefix(found.path, "."), shorten(found.value)
		e.Err = found.err
	}
	return e
}

// NewNoObjectError returns the error for JSON without a kind.
func NewNoObjectError(data []byte, obj any) error {
	return &DecodeError{Object: "the answer", Type: fmt.Sprintf("%T", obj),
		Err: fmt.Errorf("not a Kubernetes object: it has no kind: %s", shorten(data))}
}

// NameOf returns the kind, namespace and name of an object, as far as its JSON can be read.
func NameOf(data []byte) string {
	var meta metav1.PartialObjectMetadata
	_ = utiljson.Unmarshal(data, &meta) // fields that do not fit are skipped
	kind := meta.Kind
	if kind == "" {
		kind = "an object"
	}
	switch {
	case meta.Name == "":
		return kind
	case meta.Namespace == "":
		return kind + " " + meta.Name
	}
	return kind + " " + meta.Namespace + "/" + meta.Name
}

// shorten truncates a value for an error message.
func shorten(value []byte) string {
	if len(value) > 100 {
		return string(value[:100]) + "..."
	}
	return string(value)
}

// misfitting is the innermost value that does not fit its type.
type misfitting struct {
	path  string
	value []byte
	err   error
}

// search finds the value that does not fit. It decodes each value once per level of nesting. That is
// quadratic in the depth, so the search stops descending after left bytes.
type search struct {
	left int // bytes that may still be read
}

// mostSearched is about ten times the largest object that a server stores by default.
const mostSearched = 16 << 20

// misfit returns the first value in data that does not fit t, or nil.
func (s *search) misfit(data []byte, t reflect.Type) *misfitting {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	err := utiljson.Unmarshal(data, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	s.left -= len(data)
	var inner *misfitting
	switch {
	case readsItself(t) || s.left < 0:
	case t.Kind() == reflect.Struct:
		inner = s.fields(data, t)
	case t.Kind() == reflect.Map:
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) == nil {
			inner = s.values(fields, t.Elem())
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			break
		}
		for i, item := range items {
			if inner = s.misfit(item, t.Elem()); inner != nil {
				inner.path = fmt.Sprintf("[%d]%s", i, inner.path)
				break
			}
		}
	}
	if inner != nil {
		return inner
	}
	return &misfitting{value: data, err: wants(t, err)}
}

// fields searches the fields of a struct, by their JSON names, in the order of the struct.
func (s *search) fields(data []byte, t reflect.Type) *misfitting {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			if inner := s.fields(data, indirect(f.Type)); inner != nil {
				return inner
			}
			continue
		}
		if value, ok := fields[name]; ok {
			if inner := s.misfit(value, f.Type); inner != nil {
				inner.path = "." + name + inner.path
				return inner
			}
		}
	}
	return nil
}

func (s *search) values(fields map[string]json.RawMessage, t reflect.Type) *misfitting {
	for name, value := range fields {
		if inner := s.misfit(value, t); inner != nil {
			inner.path = "." + name + inner.path
			return inner
		}
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// readsItself reports whether a type implements its own decoding.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// wants describes what a type can hold, or returns the decoder's own error.
func wants(t reflect.Type, err error) error {
	if readsItself(t) {
		return err
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return errors.New("the Go type expects an object")
	case reflect.Slice:
		return errors.New("the Go type expects a list")
	}
	return fmt.Errorf("the Go type expects %s", t.Kind())
}
