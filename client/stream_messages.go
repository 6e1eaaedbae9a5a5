package client

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

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

// ReadByte makes a stream one that binary.ReadUvarint reads.
func (s *stream) ReadByte() (byte, error) {
	if s.at == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.at++
	return s.buf[s.at-1], nil
}

// field takes a field of a message: f takes its value, which has so many bytes. The result is how long the field is, with
// its tag. io.EOF comes before a field and not within one.
func (s *stream) field(f func(n protowire.Number, size int) error) (int, error) {
	tag, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, err
	}
	value, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, early(err)
	}
	length := protowire.SizeVarint(tag) + protowire.SizeVarint(value)
	n, kind := protowire.DecodeTag(tag)
	switch {
	case kind == protowire.VarintType:
		return length, nil
	case kind != protowire.BytesType || value > largestValue && n != envelopeRaw:
		return 0, fmt.Errorf("%w: field %d of a message, of type %d and %d bytes", ErrUnreadable, n, kind, value)
	}
	return length + int(value), early(f(n, int(value)))
}

// bytes takes as many bytes as are asked for.
func (s *stream) bytes(size int) ([]byte, error) {
	return s.enveloped(nil, size)
}

// enveloped takes a message of so many bytes and puts it behind the beginning of an envelope.
func (s *stream) enveloped(head []byte, size int) ([]byte, error) {
	if head == nil {
		data := make([]byte, size)
		return data, s.read(data)
	}
	data := make([]byte, 0, len(head)+protowire.SizeBytes(size))
	data = protowire.AppendVarint(append(data, head...), uint64(size))
	at := len(data)
	data = data[:at+size]
	return data, s.read(data[at:])
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
	size := int(binary.BigEndian.Uint32(have))
	if size > largestValue {
		return frame{}, false, fmt.Errorf("%w: an event of %d bytes", ErrUnreadable, size)
	}
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
