package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bowline-dev/bowline/internal/object"
)

// Stream reads JSON values or protobuf messages off a response body as they arrive. It is not safe for
// concurrent use.
type Stream struct {
	body   io.ReadCloser
	buf    []byte
	at, to int         // unread bytes are buf[at:to]
	scan   object.Scan // state of the JSON value that begins at at
	got    int         // size of the last read
	// counted is the number of bytes that ReadByte returned for the current field.
	counted int
}

// NewStream returns a reader of body. The caller closes body.
func NewStream(body io.ReadCloser) *Stream { return &Stream{body: body} }

const (
	// smallestBuffer is the buffer of an idle watch.
	smallestBuffer = 4 << 10
	// usualBuffer is the buffer of a busy stream.
	usualBuffer = 64 << 10
	// largestValue bounds the memory used for one object.
	largestValue = 64 << 20
)

// ErrUnreadable is returned for a response that is neither valid JSON nor protobuf. Nothing after the invalid
// part can be read.
var ErrUnreadable = errors.New("the server sent invalid data")

// fill reads more bytes. io.EOF is the end of the body.
func (s *Stream) fill() error {
	if s.at == s.to {
		s.at, s.to = 0, 0
		switch {
		case s.got < smallestBuffer && len(s.buf) > smallestBuffer:
			s.buf = nil
		case s.got == len(s.buf) && s.got > 0 && s.got < usualBuffer:
			s.buf = make([]byte, 2*s.got)
		}
	}
	switch {
	case len(s.buf) == 0:
		s.buf = make([]byte, smallestBuffer)
	case s.to < len(s.buf):
	case s.at > 0:
		s.to = copy(s.buf, s.buf[s.at:s.to])
		s.at = 0
		if s.to > len(s.buf)/2 || len(s.buf) < usualBuffer {
			s.grow()
		}
	case len(s.buf) > largestValue:
		return fmt.Errorf("%w: an object of more than %d bytes", ErrUnreadable, largestValue)
	default:
		s.grow()
	}
	for {
		n, err := s.body.Read(s.buf[s.to:])
		s.to += n
		s.got = n
		if n > 0 {
			return nil // the error is returned by the next read
		}
		if err != nil {
			return err
		}
	}
}

func (s *Stream) grow() {
	s.buf = append(make([]byte, 0, 2*len(s.buf)), s.buf...)
	s.buf = s.buf[:cap(s.buf)]
}

// peek returns the first byte of the next JSON token or message.
func (s *Stream) peek() (byte, error) {
	for {
		for ; s.at < s.to; s.at++ {
			if b := s.buf[s.at]; b != ' ' && b != '\n' && b != '\t' && b != '\r' {
				return b, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// take consumes an expected byte of JSON.
func (s *Stream) take(want byte) error {
	got, err := s.peek()
	if err != nil {
		return UnexpectedEOF(err)
	}
	if got != want {
		return fmt.Errorf("%w: %q where %q was expected", ErrUnreadable, got, want)
	}
	s.at++
	return nil
}

// value returns the next JSON value, which is valid until the next call. io.EOF is returned only between
// values.
func (s *Stream) value() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	for {
		value, err := s.buffered()
		if value != nil || err != nil {
			return value, err
		}
		if err := s.fill(); err != nil {
			return nil, UnexpectedEOF(err)
		}
	}
}

// buffered returns the next JSON value if the buffer holds all of it, or nil.
func (s *Stream) buffered() ([]byte, error) {
	s.at += len(s.buf[s.at:s.to]) - len(bytes.TrimLeft(s.buf[s.at:s.to], " \n\t\r"))
	n, done := s.scan.Value(s.buf[s.at:s.to])
	if !done {
		return nil, nil
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: %q where a value was expected", ErrUnreadable, s.buf[s.at])
	}
	value := s.buf[s.at : s.at+n]
	s.at += n
	s.scan = object.Scan{}
	return value, nil
}

// each calls f at the start of each field of an object, or each item of an array; f must consume it.
func (s *Stream) each(opening, closing byte, f func() error) error {
	if err := s.take(opening); err != nil {
		return err
	}
	for first := true; ; first = false {
		b, err := s.peek()
		if err != nil {
			return UnexpectedEOF(err)
		}
		if b == closing {
			s.at++
			return nil
		}
		if !first {
			if err := s.take(','); err != nil {
				return err
			}
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// UnexpectedEOF turns io.EOF into io.ErrUnexpectedEOF, for a response that ends too early.
func UnexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
