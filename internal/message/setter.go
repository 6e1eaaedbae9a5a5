package message

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// isMany reports whether a field of a type is repeated. Some slice types have messages of their own and are
// not.
func isMany(t reflect.Type) bool {
	return !unmarshals(t) && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8)
}

// unmarshals reports whether a type has an Unmarshal method.
func unmarshals(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Unmarshaler]())
}

// setterOf returns the setter for a type.
func setterOf(t reflect.Type) setter {
	switch {
	case described(t):
		return bytesOnly(planOf(t).read)
	case unmarshals(t):
		return bytesOnly(func(_ *Reader, at unsafe.Pointer, v value) error {
			into := reflect.NewAt(t, at)
			makeEmpty(into.Elem())
			return into.Interface().(Unmarshaler).Unmarshal(v.data)
		})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointer(t)
	case reflect.Slice:
		return slice(t)
	case reflect.Map:
		return bytesOnly(sharing(t, mapping(t)))
	case reflect.String:
		return bytesOnly(func(r *Reader, at unsafe.Pointer, v value) error {
			*(*string)(at) = r.word(v.data)
			return nil
		})
	case reflect.Bool:
		return number(protowire.VarintType, func(at unsafe.Pointer, n uint64) { *(*bool)(at) = n != 0 })
	case reflect.Int32, reflect.Uint32:
		return number(protowire.VarintType, func(at unsafe.Pointer, n uint64) { *(*uint32)(at) = uint32(n) })
	case reflect.Int64, reflect.Uint64:
		return number(protowire.VarintType, func(at unsafe.Pointer, n uint64) { *(*uint64)(at) = n })
	case reflect.Float64:
		return number(protowire.Fixed64Type, func(at unsafe.Pointer, n uint64) {
			*(*float64)(at) = math.Float64frombits(n)
		})
	}
	return func(*Reader, unsafe.Pointer, value) error { return fmt.Errorf("cannot decode into type %s", t) }
}

// makeEmpty makes a nil slice empty, as Unmarshal does for a present but empty value.
func makeEmpty(v reflect.Value) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
}

func number(kind protowire.Type, set func(at unsafe.Pointer, n uint64)) setter {
	return func(_ *Reader, at unsafe.Pointer, v value) error {
		if v.kind != kind {
			return errKind(v)
		}
		set(at, v.number)
		return nil
	}
}

// errAgain is returned for a repeated field that is not contiguous. It would be merged into a value that may
// be shared.
var errAgain = errors.New("a repeated field")

// pointer returns the setter for a pointer type.
func pointer(t reflect.Type) setter {
	set := setterOf(t.Elem())
	read := func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() {
			return errAgain
		}
		to := reflect.New(t.Elem())
		into.Set(to)
		return set(r, to.UnsafePointer(), v)
	}
	if t.Elem().Kind() != reflect.Struct {
		return read
	}
	return bytesOnly(sharing(t, read))
}

// slice returns the setter for a slice type.
func slice(t reflect.Type) setter {
	elem := t.Elem()
	if elem.Kind() == reflect.Uint8 {
		return bytesOnly(func(_ *Reader, at unsafe.Pointer, v value) error {
			*(*[]byte)(at) = append([]byte{}, v.data...)
			return nil
		})
	}
	set := setterOf(elem)
	return sharing(t, func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() {
			return errAgain
		}
		n, _ := run(v.data, v.tag)
		all := reflect.MakeSlice(t, n, n)
		into.Set(all)
		i := uintptr(0)
		return each(v.data, func(v value) error {
			i++
			return set(r, unsafe.Add(all.UnsafePointer(), (i-1)*elem.Size()), v)
		})
	})
}

// mapping returns the setter for a map type.
func mapping(t reflect.Type) setter {
	setKey, setElem := setterOf(t.Key()), setterOf(t.Elem())
	return func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() {
			return errAgain
		}
		n, _ := run(v.data, v.tag)
		all := reflect.MakeMapWithSize(t, n)
		into.Set(all)
		return each(v.data, func(entry value) error {
			key, elem := reflect.New(t.Key()), reflect.New(t.Elem())
			makeEmpty(elem.Elem())
			err := each(entry.data, func(v value) error {
				switch v.tag >> 3 {
				case 1:
					return setKey(r, key.UnsafePointer(), v)
				case 2:
					return setElem(r, elem.UnsafePointer(), v)
				}
				return nil
			})
			all.SetMapIndex(key.Elem(), elem.Elem())
			return err
		})
	}
}

// each calls f for each field of a message.
func each(message []byte, f func(v value) error) error {
	for len(message) > 0 {
		v, rest, err := next(message)
		if err == nil {
			err = f(v)
		}
		if err != nil {
			return err
		}
		message = rest
	}
	return nil
}
