// Package message decodes the protobuf messages of Kubernetes' built-in types into read-only Go structs that
// share equal parts. Objects of a kind resemble each other: ten thousand Pods of one Deployment share their
// containers, volumes and labels, and need a fraction of the memory and time that their Unmarshal methods
// need.
//
// It follows the protobuf tags of the structs, and calls Unmarshal for types without tags, such as times and
// quantities. A test compares it with Unmarshal for every built-in type. Package client uses it for lists
// received over the network, package kind for objects that the server and in-process informers read.
package message

import (
	"fmt"
	"io"
	"reflect"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// Unmarshaler is a type with a generated Unmarshal method.
type Unmarshaler interface {
	Unmarshal(message []byte) error
}

// Reader decodes objects that share equal parts and therefore must not be modified. It caches a bounded
// number of parts. It is safe for concurrent use.
type Reader struct {
	known

	read, repeated atomic.Int64 // bytes read in the current sample, and how many of them were found in the cache
	unlike         atomic.Int64 // bytes to decode without the cache, because few were found in it
}

// lately is the size of a sample in bytes. If less than a quarter of a sample was found in the cache, the
// cache is not used for the next seven times as many bytes.
const lately = 1 << 20

// NewReader returns a reader with an empty cache.
func NewReader() *Reader {
	r := &Reader{}
	r.forget()
	return r
}

// Read decodes a message into an empty object with the same result as Unmarshal, and retains no part of
// message. Messages that Kubernetes' encoders do not write are passed to Unmarshal, whose errors it returns.
// After an error, the object must not be used.
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

// looks reports whether to use the cache for a message of a size. It also updates the sample. Concurrent
// calls may be attributed to another's sample.
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

// value is the value of a field: a number or bytes. For repeated fields, data holds all consecutive fields
// with the same tag.
type value struct {
	tag    uint64
	kind   protowire.Type
	number uint64
	data   []byte
}

// next consumes the first field of a message.
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

// varint consumes a varint; most have one byte.
func varint(message []byte) (uint64, int) {
	if len(message) > 0 && message[0] < 0x80 {
		return uint64(message[0]), 1
	}
	return protowire.ConsumeVarint(message)
}

// run counts the fields with a tag at the start of a message, and returns the rest after them.
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
