// Package message reads the protobuf messages of Kubernetes' own types into their Go structs, for who shares what is read and
// changes nothing of it: objects of a kind are alike, and what several have in common is read and kept once. Ten thousand Pods of
// one Deployment share their containers, volumes and labels, and take a fraction of the memory and the time that their Unmarshal
// method takes.
//
// It follows the structs' protobuf tags, and leaves what these do not describe, such as times and quantities, to its own
// Unmarshal. A test holds it to the result of Unmarshal for every built-in type. Package client uses it for lists that come over
// the wire, package kind for what the server and the informers of its own process look at.
package message

import (
	"fmt"
	"io"
	"reflect"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// Unmarshaler is a type that has generated code to read itself.
type Unmarshaler interface {
	Unmarshal(message []byte) error
}

// Reader reads objects that share what they have in common: they must not be changed. It keeps a little of what it has read for
// as long as it lives. Many goroutines may use it.
type Reader struct {
	known

	read, repeated atomic.Int64 // bytes that were read lately, and those of them that had been read before
	unlike         atomic.Int64 // bytes that are not to be looked at so, since little was known
}

// lately is how many bytes tell whether it is worth looking for what objects share. Where less than a quarter was known, it is
// tried again behind seven times as many.
const lately = 1 << 20

// NewReader makes a reader that has read nothing yet.
func NewReader() *Reader {
	r := &Reader{}
	r.forget()
	return r
}

// Read reads a message into an empty object, as its Unmarshal does, and keeps nothing of the message itself. What is not as
// Kubernetes' encoders write it, Unmarshal reads, or refuses in its own words. An object that could not be read is of no use.
func (r *Reader) Read(message []byte, into Unmarshaler) error {
	v := reflect.ValueOf(into)
	if !r.looks(len(message)) || !described(v.Type().Elem()) {
		return into.Unmarshal(message)
	}
	if err := planOf(v.Type().Elem()).read(r, v.UnsafePointer(), value{data: message}); err != nil {
		v.Elem().SetZero()
		return into.Unmarshal(message)
	}
	return nil
}

// looks says whether to look for what a message of a size has in common with others. Of several who ask at once, each may hear
// what another one's message led to.
func (r *Reader) looks(size int) bool {
	if r.unlike.Load() > 0 {
		r.unlike.Add(-int64(size))
		return false
	}
	if read := r.read.Add(int64(size)); read > lately {
		if r.repeated.Load() < read/4 {
			r.unlike.Store(7 * lately)
		}
		r.read.Store(0)
		r.repeated.Store(0)
	}
	return true
}

// value is that of a field: a number, or bytes. Of a field that may be there several times, data are all fields of the same tag
// that stand beside each other.
type value struct {
	tag    uint64
	kind   protowire.Type
	number uint64
	data   []byte
}

// next takes the first field off a message.
func next(message []byte) (v value, rest []byte, err error) {
	tag, n := varint(message)
	if n < 0 {
		return v, nil, protowire.ParseError(n)
	}
	message = message[n:]
	number, kind := protowire.DecodeTag(tag)
	if number < 1 {
		return v, nil, fmt.Errorf("a field of number %d", tag>>3)
	}
	v.tag, v.kind = tag, kind
	switch kind {
	case protowire.VarintType:
		v.number, n = varint(message)
	case protowire.BytesType:
		size, head := varint(message)
		if head < 0 || size > uint64(len(message)-head) {
			return v, nil, io.ErrUnexpectedEOF
		}
		n = head + int(size)
		v.data = message[head:n:n]
	case protowire.Fixed64Type:
		v.number, n = protowire.ConsumeFixed64(message)
	default:
		n = protowire.ConsumeFieldValue(number, kind, message)
	}
	if n < 0 {
		return v, nil, protowire.ParseError(n)
	}
	return v, message[n:], nil
}

// varint takes a number off a message; most have one byte.
func varint(message []byte) (uint64, int) {
	if len(message) > 0 && message[0] < 0x80 {
		return uint64(message[0]), 1
	}
	return protowire.ConsumeVarint(message)
}

// run is how many fields at the start of a message have a tag, and what follows them.
func run(message []byte, tag uint64) (n int, rest []byte) {
	for rest = message; len(rest) > 0; n++ {
		v, behind, err := next(rest)
		if err != nil || v.tag != tag {
			break
		}
		rest = behind
	}
	return n, rest
}
