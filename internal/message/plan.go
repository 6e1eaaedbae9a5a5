package message

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plan is how the message of a struct is read.
type plan struct {
	of     reflect.Type
	once   sync.Once
	fields []planned // by their numbers; nil until a message is read
}

// plans are those of all types that were read. They follow from the types alone, like those that encoding/json keeps.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, &plan{of: t})
	return p.(*plan)
}

type planned struct {
	set    setter
	offset uintptr
	many   bool // a slice or a map
}

// setter reads a value into the Go value at a place, which is of the type that the setter is for.
type setter func(r *Reader, at unsafe.Pointer, v value) error

// described says whether a type is a struct whose tags tell how it is read: each field has one, but the kind and version, which
// are in the envelope.
func described(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if _, ok := numberOf(f); !ok && f.Type != reflect.TypeFor[metav1.TypeMeta]() || !f.IsExported() {
			return false
		}
	}
	return true
}

// numberOf is the number of a field.
func numberOf(f reflect.StructField) (int, bool) {
	_, rest, _ := strings.Cut(f.Tag.Get("protobuf"), ",")
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(number)
	return n, err == nil
}

// make plans the fields. Only when the first message is read, since a struct may be part of itself.
func (p *plan) make() {
	for i := range p.of.NumField() {
		f := p.of.Field(i)
		n, ok := numberOf(f)
		if !ok {
			continue
		}
		p.fields = append(p.fields, make([]planned, max(0, n+1-len(p.fields)))...)
		p.fields[n] = planned{set: setterOf(f.Type), offset: f.Offset, many: isMany(f.Type)}
	}
}

// read reads the message of a struct. Fields that the struct does not have are passed over.
func (p *plan) read(r *Reader, at unsafe.Pointer, v value) error {
	p.once.Do(p.make)
	for message := v.data; len(message) > 0; {
		v, rest, err := next(message)
		if err != nil {
			return err
		}
		if n := v.tag >> 3; n < uint64(len(p.fields)) && p.fields[n].set != nil {
			f := &p.fields[n]
			if f.many {
				_, rest = run(rest, v.tag)
				v.data = message[:len(message)-len(rest)]
			}
			if err := f.set(r, unsafe.Add(at, f.offset), v); err != nil {
				return fmt.Errorf("%s, field %d: %w", p.of, n, err)
			}
		}
		message = rest
	}
	return nil
}

// bytesOnly refuses values that are no bytes.
func bytesOnly(set setter) setter {
	return func(r *Reader, at unsafe.Pointer, v value) error {
		if v.kind != protowire.BytesType {
			return errKind(v)
		}
		return set(r, at, v)
	}
}

// errKind is the error of a value that is not of the kind that its field has.
func errKind(v value) error { return fmt.Errorf("a value of the wrong type %d", v.kind) }
