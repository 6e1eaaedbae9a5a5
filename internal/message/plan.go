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

// plan describes how to decode the message of a struct.
type plan struct {
	of     reflect.Type
	once   sync.Once
	fields []planned // by field number; nil until the first message is read
}

// plans caches plans by type. They depend on nothing but the types, as in encoding/json.
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

// setter decodes a value into the Go value at an address, which must have the type that the setter was made
// for.
type setter func(r *Reader, at unsafe.Pointer, v value) error

// described reports whether a type is a struct whose tags describe its message: every field has a tag, except
// for kind and version, which are in the envelope.
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

// numberOf returns the protobuf number of a field.
func numberOf(f reflect.StructField) (int, bool) {
	_, rest, _ := strings.Cut(f.Tag.Get("protobuf"), ",")
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(number)
	return n, err == nil
}

// make plans the fields. It runs when the first message is read, because structs may be recursive.
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

// read decodes the message of a struct. It skips unknown fields.
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

// bytesOnly rejects values that are not bytes.
func bytesOnly(set setter) setter {
	return func(r *Reader, at unsafe.Pointer, v value) error {
		if v.kind != protowire.BytesType {
			return errKind(v)
		}
		return set(r, at, v)
	}
}

// errKind returns the error for a value of the wrong wire type.
func errKind(v value) error { return fmt.Errorf("a value of the wrong type %d", v.kind) }
