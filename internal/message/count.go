package message

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// structCost is what a nested message counts beside its field, because it becomes a struct that is defaulted and
// validated.
const structCost = 2

// CountFields returns the number of fields in the message of a Go type, including the fields of nested messages, which
// themselves count three times. It stops at limit. An empty message takes two bytes and may become a large struct, so
// the length of a message does not bound the memory of its object. Kubernetes' decoders accept some messages that
// protowire rejects, such as those with huge field numbers, so CountFields assumes that the rest of a malformed message
// consists of the shortest fields.
func CountFields(message []byte, of reflect.Type, limit int) int {
	return shapeOf(of).count(message, limit)
}

// shape describes which fields of a message are messages.
type shape struct {
	of     reflect.Type
	once   sync.Once
	nested map[protowire.Number]*shape
}

// shapes caches shapes by type, like plans.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, &shape{of: t})
	return s.(*shape)
}

// make finds the nested messages. It runs when the first message is counted, because structs may be recursive.
func (s *shape) make() {
	s.nested = map[protowire.Number]*shape{}
	for f := range s.of.Fields() {
		n, ok := numberOf(f)
		if !ok {
			continue
		}
		t := f.Type
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			s.nested[protowire.Number(n)] = shapeOf(t)
		}
	}
}

func (s *shape) count(message []byte, limit int) int {
	s.once.Do(s.make)
	n := 0
	for len(message) > 0 && n < limit {
		v, rest, err := next(message)
		if err != nil {
			const shortest = 2 // a tag and a length or a value, of one byte each
			return min(n+len(message)/shortest, limit)
		}
		n++
		if inner := s.nested[protowire.Number(v.tag>>3)]; inner != nil && v.kind == protowire.BytesType {
			n += structCost
			n += inner.count(v.data, max(0, limit-n))
		}
		message = rest
	}
	return min(n, limit)
}
