package ownership

import (
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// shape is the JSON type of a Go value.
type shape int

const (
	absent  shape = iota
	null          // a nil that is not omitted
	mapping       // a struct or a map
	list
	number
	text
	boolean
	opaque // a type with its own JSON encoding: a time, a quantity
)

// shapedValue is a Go value, of a struct or of decoded JSON, with pointers and interfaces resolved.
type shapedValue struct {
	v     reflect.Value
	shape shape
}

func resolve(v reflect.Value) shapedValue {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return shapedValue{v, null}
		}
		v = v.Elem()
	}
	s := shapedValue{v, opaque}
	switch v.Kind() {
	case reflect.Invalid:
		s.shape = null
	case reflect.Struct:
		s.shape = mapping
	case reflect.Map:
		s.shape = mapping
		if v.IsNil() {
			s.shape = null
		}
	case reflect.Slice:
		s.shape = list
		if v.IsNil() {
			s.shape = null
		} else if v.Type().Elem().Kind() == reflect.Uint8 {
			s.shape = text
		}
	case reflect.String:
		s.shape = text
	case reflect.Bool:
		s.shape = boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		s.shape = number
	}
	if s.shape > null && v.Type().PkgPath() != "" && value.TypeReflectEntryOf(v.Type()).CanConvertToUnstructured() {
		s.shape = opaque
	}
	return s
}

// encoded encodes an opaque value and returns the result, or null if encoding fails.
func (s shapedValue) encoded() shapedValue {
	content, err := value.TypeReflectEntryOf(s.v.Type()).ToUnstructured(s.v)
	if err != nil {
		return shapedValue{shape: null}
	}
	return resolve(reflect.ValueOf(content))
}

// items calls yield for each item that JSON would contain, ordered by name.
func (s shapedValue) items(yield func(name string, v reflect.Value)) {
	if s.v.Kind() == reflect.Struct {
		for _, f := range value.TypeReflectEntryOf(s.v.Type()).OrderedFields() {
			if v := f.GetFrom(s.v); !f.CanOmit(v) {
				yield(f.JsonName, v)
			}
		}
		return
	}
	if m, ok := s.v.Interface().(map[string]any); ok {
		plainItems(m, yield)
		return
	}
	type entry struct {
		name string
		v    reflect.Value
	}
	entries := make([]entry, 0, s.v.Len())
	for i := s.v.MapRange(); i.Next(); {
		entries = append(entries, entry{i.Key().String(), i.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range entries {
		yield(e.name, e.v)
	}
}

// plainItems is items for decoded JSON, without reflection.
func plainItems(m map[string]any, yield func(name string, v reflect.Value)) {
	var room [32]string
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		yield(name, reflect.ValueOf(m[name]))
	}
}

// item returns an item of a mapping, or absent.
func (s shapedValue) item(name string) shapedValue {
	switch {
	case s.shape != mapping:
		return shapedValue{}
	case s.v.Kind() == reflect.Struct:
		f := value.TypeReflectEntryOf(s.v.Type()).Fields()[name]
		if f == nil {
			return shapedValue{}
		}
		v := f.GetFrom(s.v)
		if f.CanOmit(v) {
			return shapedValue{}
		}
		return resolve(v)
	}
	if m, ok := s.v.Interface().(map[string]any); ok {
		v, has := m[name]
		if !has {
			return shapedValue{}
		}
		return resolve(reflect.ValueOf(v))
	}
	v := s.v.MapIndex(reflect.ValueOf(name).Convert(s.v.Type().Key()))
	if !v.IsValid() {
		return shapedValue{}
	}
	return resolve(v)
}

// empty reports whether a mapping or list has no items.
func (s shapedValue) empty() bool {
	switch {
	case s.shape <= null:
		return true
	case s.v.Kind() != reflect.Struct:
		return s.v.Len() == 0
	}
	for _, f := range value.TypeReflectEntryOf(s.v.Type()).OrderedFields() {
		if !f.CanOmit(f.GetFrom(s.v)) {
			return false
		}
	}
	return true
}

// scalar converts a string, boolean or integer to the library's type.
func (s shapedValue) scalar() (value.Value, bool) {
	switch {
	case s.shape == text && s.v.Kind() == reflect.String:
		return value.NewValueInterface(s.v.String()), true
	case s.shape == boolean:
		return value.NewValueInterface(s.v.Bool()), true
	case s.shape == number && s.v.CanInt():
		return value.NewValueInterface(s.v.Int()), true
	}
	return nil, false
}
