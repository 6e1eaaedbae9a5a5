package message

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"unsafe"
)

const (
	// remembered is how many values of a field are known by their bytes: those that came last.
	remembered = 256
	// longestShared bounds the bytes of one.
	longestShared = 16 << 10
)

// sharing has a field that is a pointer, a slice or a map be the same one wherever it has the same bytes. What is shared is not
// changed any more: set refuses to add to what is there.
func sharing(t reflect.Type, set setter) setter {
	type read struct {
		message []byte
		made    reflect.Value
	}
	var known []read
	return func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() || len(v.data) > longestShared {
			return set(r, at, v)
		}
		if known == nil {
			known = make([]read, remembered)
		}
		k := &known[maphash.Bytes(r.seed, v.data)%remembered]
		if k.made.IsValid() && bytes.Equal(k.message, v.data) {
			into.Set(k.made)
			r.known += len(v.data)
			return nil
		}
		if err := set(r, at, v); err != nil {
			return err
		}
		if !k.made.IsValid() {
			k.made = reflect.New(t).Elem()
		}
		k.made.Set(into)
		k.message = append(k.message[:0], v.data...)
		return nil
	}
}
