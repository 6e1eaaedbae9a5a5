package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// checkEncodable returns an error if an object from protobuf has a value without a JSON form, such as an IntOrString
// that is neither, or an extension that is not JSON. JSON bodies cannot have such values. Ownership, which works on
// the JSON form, would panic.
func checkEncodable(obj runtime.Object) error {
	return checkEncodableValue(reflect.ValueOf(obj), nil)
}

// jsonMarshaler is implemented by types with a JSON form of their own.
var jsonMarshaler = reflect.TypeFor[json.Marshaler]()

// encodingFails caches, for Go types, whether the JSON encoding of a value can fail.
var encodingFails sync.Map // of reflect.Type to bool

// alwaysEncodable are types whose JSON encoding never fails, and FieldsV1, which package ownership reads itself and
// replaces if it is invalid.
var alwaysEncodable = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true,
	reflect.TypeFor[metav1.FieldsV1](): true, reflect.TypeFor[metav1.Duration](): true,
	reflect.TypeFor[resource.Quantity](): true,
}

// encodingCanFail reports whether a type is, or contains, a type whose JSON encoding may fail.
func encodingCanFail(t reflect.Type) bool {
	if known, ok := encodingFails.Load(t); ok {
		return known.(bool)
	}
	fails := reachesMarshaler(t, map[reflect.Type]bool{})
	encodingFails.Store(t, fails)
	return fails
}

func reachesMarshaler(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || alwaysEncodable[t] {
		return false
	}
	seen[t] = true
	if t.Kind() != reflect.Pointer && t.Implements(jsonMarshaler) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		return reachesMarshaler(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && reachesMarshaler(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// checkEncodableValue checks a value at a path of JSON names.
func checkEncodableValue(v reflect.Value, path []string) error {
	if !encodingCanFail(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkEncodableValue(v.Elem(), path)
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkEncodableValue(v.Index(i), append(path, fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if err := checkEncodableValue(i.Value(), append(path, i.Key().String())); err != nil {
				return err
			}
		}
		return nil
	}
	if m, ok := v.Interface().(json.Marshaler); ok {
		data, err := m.MarshalJSON()
		if err == nil && !json.Valid(data) {
			err = errors.New("invalid JSON")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(path, "."), err)
		}
		return nil
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || !encodingCanFail(f.Type) {
			continue
		}
		at := path
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			at = append(path, name)
		}
		if err := checkEncodableValue(v.Field(i), at); err != nil {
			return err
		}
	}
	return nil
}
