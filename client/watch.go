package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/object"
)

// Stream is a running watch of typed objects. Next must be called by one goroutine at a time; any goroutine
// may call Stop.
type Stream[T Object] struct {
	frames *frames
}

// Next waits for the next event. io.EOF is the orderly end of the watch. An event of type Error is returned
// as the Status error that it holds. The object of a bookmark has only a resourceVersion. The caller owns the
// object.
func (s *Stream[T]) Next() (watch.EventType, T, error) {
	event, err := s.frames.next()
	if err != nil {
		return "", *new(T), err
	}
	obj, err := Decode[T](event.object)
	return event.kind, obj, err
}

// Stop ends the watch, and a Next that waits.
func (s *Stream[T]) Stop() { s.frames.stop() }

// frames reads the events of a watch, in JSON or protobuf.
type frames struct {
	in     *stream
	cancel context.CancelFunc
	begun  bool
	format object.Format
}

// frame is one event. Its object is still encoded, in an envelope if it is protobuf, and is not shared.
type frame struct {
	kind   watch.EventType
	object []byte
}

// watch starts a watch, which ends with ctx or stop.
func (c *Client) watch(ctx context.Context, q *rest.Request, options metav1.ListOptions) (*frames, error) {
	ctx, cancel := context.WithCancel(ctx)
	options.Watch = true
	body, err := c.options(q, &options).Stream(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &frames{in: &stream{body: body}, cancel: cancel}, nil
}

// next waits for an event. io.EOF is returned only between events; if the connection breaks within one, the
// error is io.ErrUnexpectedEOF or the connection's own.
func (f *frames) next() (frame, error) {
	for {
		event, ok, err := f.ready()
		if ok || err != nil {
			return event, err
		}
		if err := f.in.fill(); err != nil {
			if f.in.at < f.in.to {
				err = early(err)
			}
			if err == io.EOF {
				return frame{}, io.EOF
			}
			return frame{}, fmt.Errorf("reading a watch: %w", err)
		}
	}
}

// ready returns the next event if the buffer holds all of it.
func (f *frames) ready() (event frame, ok bool, err error) {
	if !f.begun {
		if f.in.at == f.in.to {
			return frame{}, false, nil
		}
		// A protobuf event begins with the high byte of its length, which is small; JSON begins with a
		// printable byte.
		if f.begun = true; f.in.buf[f.in.at] < '\t' {
			f.format = object.Protobuf
		}
	}
	if f.format == object.Protobuf {
		event, ok, err = f.in.message()
	} else {
		event, ok, err = f.in.line()
	}
	if ok && event.kind == watch.Error {
		return frame{}, false, f.failure(event.object)
	}
	return event, ok, err
}

// line returns the next JSON event if the buffer holds all of it.
func (s *stream) line() (event frame, ok bool, err error) {
	value, err := s.buffered()
	if value == nil || err != nil {
		return frame{}, false, err
	}
	c := object.NewCursor(value)
	c.Fields(func(name []byte) bool {
		switch string(name) {
		case "type":
			event.kind = eventType(c.String())
		case "object":
			event.object = bytes.Clone(c.Skip())
		default:
			c.Skip()
		}
		return true
	})
	if c.Err() != nil {
		return frame{}, false, fmt.Errorf("%w: %w", ErrUnreadable, c.Err())
	}
	return event, true, nil
}

// eventType returns the type without allocating for the known ones.
func eventType(name []byte) watch.EventType {
	switch t := watch.EventType(name); t {
	case watch.Added:
		return watch.Added
	case watch.Modified:
		return watch.Modified
	case watch.Deleted:
		return watch.Deleted
	case watch.Bookmark:
		return watch.Bookmark
	default:
		return t
	}
}

// failure returns the Status error in an ERROR event.
func (f *frames) failure(data []byte) error {
	status := &metav1.Status{}
	if f.format == object.JSON {
		if err := json.Unmarshal(data, status); err != nil {
			return fmt.Errorf("reading the error that a watch ended with: %w", err)
		}
		return apierrors.FromObject(status)
	}
	var envelope runtime.Unknown
	raw, ok := bytes.CutPrefix(data, []byte(object.ProtobufMagic))
	if !ok {
		return fmt.Errorf("reading the error that a watch ended with: %w", ErrUnreadable)
	}
	if err := envelope.Unmarshal(raw); err != nil {
		return fmt.Errorf("reading the error that a watch ended with: %w", err)
	}
	if err := status.Unmarshal(envelope.Raw); err != nil {
		return fmt.Errorf("reading the error that a watch ended with: %w", err)
	}
	return apierrors.FromObject(status)
}

func (f *frames) stop() {
	f.cancel()
	f.in.body.Close()
}
