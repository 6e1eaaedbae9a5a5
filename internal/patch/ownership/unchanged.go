package ownership

import (
	"encoding/json"
	"reflect"
	"sync"
)

// dropUnchanged clears the parts that two structs of the same type have in common, so that the comparison that
// follows, which is much slower, does not visit them. The structs must be copies. dropUnchanged reports whether they
// were equal.
func dropUnchanged(was, is reflect.Value) bool {
	if was.Kind() != reflect.Struct || !isPlainStruct(was.Type()) {
		same := sameValue(was, is)
		if same {
			was.SetZero()
			is.SetZero()
		}
		return same
	}
	all := true
	for i := range was.NumField() {
		if !dropUnchanged(was.Field(i), is.Field(i)) {
			all = false
		}
	}
	return all
}

// sameValue is reflect.DeepEqual with fast paths for small fields and shared pointers.
func sameValue(was, is reflect.Value) bool {
	switch was.Kind() {
	case reflect.String:
		return was.String() == is.String()
	case reflect.Bool:
		return was.Bool() == is.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return was.Int() == is.Int()
	case reflect.Pointer, reflect.Map:
		if was.UnsafePointer() == is.UnsafePointer() {
			return true
		}
	case reflect.Slice:
		if was.Len() == is.Len() && was.UnsafePointer() == is.UnsafePointer() {
			return true
		}
	}
	return reflect.DeepEqual(was.Addr().Interface(), is.Addr().Interface()) // addresses, to avoid copies
}

var (
	writesItself = reflect.TypeFor[json.Marshaler]()
	plainStructs sync.Map // maps reflect.Type to isPlainStruct's result, which is slow to compute
)

// isPlainStruct reports whether the JSON of a struct consists of its fields.
func isPlainStruct(t reflect.Type) bool {
	if plain, known := plainStructs.Load(t); known {
		return plain.(bool)
	}
	plain := !t.Implements(writesItself) && !reflect.PointerTo(t).Implements(writesItself)
	plainStructs.Store(t, plain)
	return plain
}
