package ownership

import (
	"encoding/json"
	"reflect"
)

// dropUnchanged makes the parts of two structs of a type, which are copies, as if nothing were there, as far as both have the same: a
// comparison finds no change in those, and takes much longer to. It says whether that is all of them.
func dropUnchanged(was, is reflect.Value) bool {
	if !isPlainStruct(was.Type()) {
		same := reflect.DeepEqual(was.Addr().Interface(), is.Addr().Interface()) // of pointers, which copies nothing
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

var writesItself = reflect.TypeFor[json.Marshaler]()

// isPlainStruct says that a struct is in JSON what its fields are.
func isPlainStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(writesItself) && !reflect.PointerTo(t).Implements(writesItself)
}
