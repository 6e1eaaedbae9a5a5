package client

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// read fills into with the bytes that come next.
func (s *stream) read(into []byte) error {
	n := copy(into, s.buf[s.at:s.to])
	s.at += n
	for n < len(into) {
		m, err := s.body.Read(into[n:])
		n += m
		if err != nil && n < len(into) {
			return early(err)
		}
	}
	return nil
}

// ReadByte makes a stream one that binary.ReadUvarint reads, and counts.
func (s *stream) ReadByte() (byte, error) {
	if s.at == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.at++
	s.counted++
	return s.buf[s.at-1], nil
}

// field takes a field of a message of which so many bytes are left: f takes its value, which has so many bytes. The result is
// how many are left behind it. io.EOF comes before a field and not within one.
func (s *stream) field(left int, f func(n protowire.Number, size int) error) (int, error) {
	s.counted = 0
	tag, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, err
	}
	value, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, early(err)
	}
	left -= s.counted
	n, kind := protowire.DecodeTag(tag)
	size := uint64(0)
	if kind == protowire.BytesType {
		size = value
	}
	if n < 1 || kind != protowire.BytesType && kind != protowire.VarintType || left < 0 || size > uint64(left) {
		return 0, fmt.Errorf("%w: field %d of a message, of type %d and %d bytes of %d", ErrUnreadable, n, kind, size, left)
	}
	if kind == protowire.VarintType {
		return left, nil
	}
	return left - int(size), early(f(n, int(size)))
}

// bytes takes as many bytes as are asked for.
func (s *stream) bytes(size int) ([]byte, error) {
	return s.enveloped(nil, size)
}

// enveloped takes a message of so many bytes and puts it behind the beginning of an envelope.
func (s *stream) enveloped(head []byte, size int) ([]byte, error) {
	if head == nil {
		return s.appended(nil, size)
	}
	data := make([]byte, 0, len(head)+protowire.SizeBytes(min(size, mostAhead)))
	return s.appended(protowire.AppendVarint(append(data, head...), uint64(size)), size)
}

// mostAhead is how much is held for what a server has announced, and not sent yet.
const mostAhead = 1 << 20

// appended takes so many bytes and puts them behind data.
func (s *stream) appended(data []byte, size int) ([]byte, error) {
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

var _ io.ByteReader = (*stream)(nil)

// Field numbers of a WatchEvent, and of the RawExtension in it.
const (
	eventKind   = 1
	eventObject = 2
	rawBytes    = 1
)

// message takes an event of a watch in protobuf, if it was read already: its length in four bytes, and a WatchEvent.
func (s *stream) message() (event frame, ok bool, err error) {
	have := s.buf[s.at:s.to]
	if len(have) < 4 {
		return frame{}, false, nil
	}
	announced := binary.BigEndian.Uint32(have)
	if announced > largestValue {
		return frame{}, false, fmt.Errorf("%w: an event of %d bytes", ErrUnreadable, announced)
	}
	size := int(announced)
	if len(have) < 4+size {
		return frame{}, false, nil
	}
	s.at += 4 + size
	data := bytes.Clone(have[4 : 4+size])
	if !eventOf(data, &event) {
		return frame{}, false, fmt.Errorf("%w: an event that is no WatchEvent", ErrUnreadable)
	}
	return event, true, nil
}

// eventOf reads a WatchEvent; the event's object is a part of data.
func eventOf(data []byte, event *frame) bool {
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
			event.kind = eventType(value)
		case eventObject:
			n, _, size := protowire.ConsumeTag(value)
			if size < 0 || n != rawBytes {
				return false
			}
			raw, length := protowire.ConsumeBytes(value[size:])
			if length < 0 {
				return false
			}
			event.object = raw
		}
	}
	return true
}
