package ownership

import (
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// shape is what a Go value is as JSON.
type shape int

const (
	absent  shape = iota
	null          // a nil that is not left out
	mapping       // a struct or a map
	list
	number
	text
	boolean
	opaque // what writes itself as JSON: a time, a quantity
)

// seen is a Go value, a struct's or one of decoded JSON, as a walk sees it: behind its pointers.
type seen struct {
	v     reflect.Value
	shape shape
}

func look(v reflect.Value) seen {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return seen{v, null}
		}
		v = v.Elem()
	}
	s := seen{v, opaque}
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
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		s.shape = number
	}
	if s.shape > null && v.Type().PkgPath() != "" && value.TypeReflectEntryOf(v.Type()).CanConvertToUnstructured() {
		s.shape = opaque
	}
	return s
}

// clear is what an opaque value writes, and null when it cannot.
func (s seen) clear() seen {
	content, err := value.TypeReflectEntryOf(s.v.Type()).ToUnstructured(s.v)
	if err != nil {
		return seen{shape: null}
	}
	return look(reflect.ValueOf(content))
}

// items calls yield with each item that JSON has, in the order of their names.
func (s seen) items(yield func(name string, v reflect.Value)) {
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

// plainItems are items of decoded JSON, found without reflection.
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

// item is one item of a mapping, absent in everything else.
func (s seen) item(name string) seen {
	switch {
	case s.shape != mapping:
		return seen{}
	case s.v.Kind() == reflect.Struct:
		f := value.TypeReflectEntryOf(s.v.Type()).Fields()[name]
		if f == nil {
			return seen{}
		}
		v := f.GetFrom(s.v)
		if f.CanOmit(v) {
			return seen{}
		}
		return look(v)
	}
	if m, ok := s.v.Interface().(map[string]any); ok {
		v, has := m[name]
		if !has {
			return seen{}
		}
		return look(reflect.ValueOf(v))
	}
	v := s.v.MapIndex(reflect.ValueOf(name).Convert(s.v.Type().Key()))
	if !v.IsValid() {
		return seen{}
	}
	return look(v)
}

// empty says that there is nothing in a mapping or list.
func (s seen) empty() bool {
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

// scalar is a plain value as the library has it.
func (s seen) scalar() (value.Value, bool) {
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
