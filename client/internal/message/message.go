// Package message reads the protobuf messages of Kubernetes' own types into their Go structs, for caches: objects in a list are
// alike, and what several have in common is read and kept once. Ten thousand Pods of one Deployment share their containers,
// volumes and labels, and take a fraction of the memory and the time that their Unmarshal method takes.
//
// It follows the structs' protobuf tags, and leaves what these do not describe, such as times and quantities, to its own
// Unmarshal. A test holds it to the result of Unmarshal for every built-in type. Package client uses it.
package message

import (
	"fmt"
	"hash/maphash"
	"io"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// Unmarshaler is a type that has generated code to read itself.
type Unmarshaler interface {
	Unmarshal(message []byte) error
}

// Reader reads objects that share what they have in common: they must not be changed. It is for one goroutine, and keeps a
// little of what it has read for as long as it lives.
type Reader struct {
	plans map[reflect.Type]*plan
	seed  maphash.Seed
	words [1024]string

	read, known int // bytes that were read lately, and those of them that had been read before
	unlike      int // bytes that are not to be looked at so, since little was known
}

// lately is how many bytes tell whether it is worth looking for what objects share. Where less than a quarter was known, it is
// tried again behind seven times as many.
const lately = 1 << 20

// NewReader makes a reader that has read nothing yet.
func NewReader() *Reader {
	return &Reader{plans: map[reflect.Type]*plan{}, seed: maphash.MakeSeed()}
}

// Read reads a message into an empty object, as its Unmarshal does, and keeps nothing of the message itself. What is not as
// Kubernetes' encoders write it, Unmarshal reads, or refuses in its own words. An object that could not be read is of no use.
func (r *Reader) Read(message []byte, into Unmarshaler) error {
	v := reflect.ValueOf(into)
	if !r.looks(len(message)) || !r.reads(v.Type().Elem()) {
		return into.Unmarshal(message)
	}
	if err := r.plan(v.Type().Elem()).read(r, v.UnsafePointer(), value{data: message}); err != nil {
		v.Elem().SetZero()
		return into.Unmarshal(message)
	}
	return nil
}

// looks says whether to look for what a message of a size has in common with others.
func (r *Reader) looks(size int) bool {
	if r.unlike > 0 {
		r.unlike -= size
		return false
	}
	if r.read += size; r.read > lately {
		if r.known < r.read/4 {
			r.unlike = 7 * lately
		}
		r.read, r.known = 0, 0
	}
	return true
}

// longestWord is how long a string may be to be kept once.
const longestWord = 128

// word is a string, the same one as before where that was equal.
func (r *Reader) word(data []byte) string {
	if len(data) > longestWord {
		return string(data)
	}
	w := &r.words[maphash.Bytes(r.seed, data)%uint64(len(r.words))]
	if *w != string(data) {
		*w = string(data)
	}
	return *w
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
