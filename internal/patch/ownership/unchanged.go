package ownership

import (
	"encoding/json"
	"reflect"
	"sync"
)

// dropUnchanged makes the parts of two structs of a type, which are copies, as if nothing were there, as far as both have the same: a
// comparison finds no change in those, and takes much longer to. It says whether that is all of them.
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

// sameValue is reflect.DeepEqual, which most fields are too small for, or are left alone by: those are told without it.
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
	return reflect.DeepEqual(was.Addr().Interface(), is.Addr().Interface()) // of pointers, which copies nothing
}

var (
	writesItself = reflect.TypeFor[json.Marshaler]()
	plainStructs sync.Map // of reflect.Type: whether it is a plain struct, which is slow to find out
)

// isPlainStruct says that a struct is in JSON what its fields are.
func isPlainStruct(t reflect.Type) bool {
	if plain, known := plainStructs.Load(t); known {
		return plain.(bool)
	}
	plain := !t.Implements(writesItself) && !reflect.PointerTo(t).Implements(writesItself)
	plainStructs.Store(t, plain)
	return plain
}
