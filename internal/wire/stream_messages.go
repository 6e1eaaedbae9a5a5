package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// read fills into with the next bytes.
func (s *Stream) read(into []byte) error {
	n := copy(into, s.buf[s.at:s.to])
	s.at += n
	for n < len(into) {
		m, err := s.body.Read(into[n:])
		n += m
		if err != nil && n < len(into) {
			return UnexpectedEOF(err)
		}
	}
	return nil
}

// ReadByte implements io.ByteReader for binary.ReadUvarint, and counts.
func (s *Stream) ReadByte() (byte, error) {
	if s.at == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.at++
	s.counted++
	return s.buf[s.at-1], nil
}

// field reads one field of a message that has left bytes remaining. f must consume the value, of the given
// size. field returns the number of bytes that remain after it. io.EOF is returned only between fields.
func (s *Stream) field(left int, f func(n protowire.Number, size int) error) (int, error) {
	s.counted = 0
	tag, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, err
	}
	value, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, UnexpectedEOF(err)
	}
	left -= s.counted
	n, kind := protowire.DecodeTag(tag)
	size := uint64(0)
	if kind == protowire.BytesType {
		size = value
	}
	if n < 1 || kind != protowire.BytesType && kind != protowire.VarintType || left < 0 || size > uint64(left) {
		return 0, fmt.Errorf("%w: field %d of a message, of type %d and %d bytes of %d", ErrUnreadable, n, kind, size,
			left)
	}
	if kind == protowire.VarintType {
		return left, nil
	}
	return left - int(size), UnexpectedEOF(f(n, int(size)))
}

// bytes returns the next size bytes.
func (s *Stream) bytes(size int) ([]byte, error) {
	return s.enveloped(nil, size)
}

// enveloped reads a message of the given size and returns it after head, the beginning of an envelope.
func (s *Stream) enveloped(head []byte, size int) ([]byte, error) {
	if head == nil {
		return s.appended(nil, size)
	}
	data := make([]byte, 0, len(head)+protowire.SizeBytes(min(size, mostAhead)))
	return s.appended(protowire.AppendVarint(append(data, head...), uint64(size)), size)
}

// mostAhead bounds the memory allocated for bytes that the server has announced but not sent yet.
const mostAhead = 1 << 20

// appended appends the next size bytes to data.
func (s *Stream) appended(data []byte, size int) ([]byte, error) {
	if size > largestValue {
		return nil, fmt.Errorf("%w: a value of %d bytes, of at most %d", ErrUnreadable, size, largestValue)
	}
	for size > 0 {
		at, n := len(data), min(size, mostAhead)
		data = slices.Grow(data, n)[:at+n]
		if err := s.read(data[at:]); err != nil {
			return nil, err
		}
		size -= n
	}
	return data, nil
}

var _ io.ByteReader = (*Stream)(nil)

// Field numbers of a WatchEvent, and of its RawExtension.
const (
	eventKind   = 1
	eventObject = 2
	rawBytes    = 1
)

// message returns the next protobuf event of a watch if the buffer holds all of it: a four-byte length and a
// WatchEvent.
func (s *Stream) message() (event Frame, ok bool, err error) {
	have := s.buf[s.at:s.to]
	if len(have) < 4 {
		return Frame{}, false, nil
	}
	announced := binary.BigEndian.Uint32(have)
	if announced > largestValue {
		return Frame{}, false, fmt.Errorf("%w: an event of %d bytes", ErrUnreadable, announced)
	}
	size := int(announced)
	if len(have) < 4+size {
		return Frame{}, false, nil
	}
	s.at += 4 + size
	data := bytes.Clone(have[4 : 4+size])
	if !eventOf(data, &event) {
		return Frame{}, false, fmt.Errorf("%w: an event that is not a WatchEvent", ErrUnreadable)
	}
	return event, true, nil
}

// eventOf decodes a WatchEvent. The event's object shares the memory of data.
func eventOf(data []byte, event *Frame) bool {
	for len(data) > 0 {
		n, kind, size := protowire.ConsumeTag(data)
		if size < 0 || kind != protowire.BytesType {
			return false
		}
		value, length := protowire.ConsumeBytes(data[size:])
		if length < 0 {
			return false
		}
		data = data[size+length:]
		switch n {
		case eventKind:
			event.Kind = eventType(value)
		case eventObject:
			n, _, size := protowire.ConsumeTag(value)
			if size < 0 || n != rawBytes {
				return false
			}
			raw, length := protowire.ConsumeBytes(value[size:])
			if length < 0 {
				return false
			}
			event.Object = raw
		}
	}
	return true
}
