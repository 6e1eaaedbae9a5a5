package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// Frames reads the events of a watch, in JSON or protobuf.
type Frames struct {
	in      *Stream
	cancel  context.CancelFunc
	started bool
	format  object.Format
}

// Frame is one event. Its object is still encoded, in an envelope if it is protobuf, and is not shared.
type Frame struct {
	Kind   watch.EventType
	Object []byte
}

// NewFrames returns a reader of the events in the body of a response. Stop calls cancel, which must end the request,
// and closes body.
func NewFrames(body io.ReadCloser, cancel context.CancelFunc) *Frames {
	return &Frames{in: NewStream(body), cancel: cancel}
}

// Next waits for an event. io.EOF is returned only between events; if the connection breaks within one, the
// error is io.ErrUnexpectedEOF or the connection's own.
func (f *Frames) Next() (Frame, error) {
	for {
		event, ok, err := f.Buffered()
		if ok || err != nil {
			return event, err
		}
		if err := f.in.fill(); err != nil {
			if f.in.at < f.in.to {
				err = UnexpectedEOF(err)
			}
			if err == io.EOF {
				return Frame{}, io.EOF
			}
			return Frame{}, fmt.Errorf("reading a watch: %w", err)
		}
	}
}

// Buffered returns the next event if the buffer holds all of it.
func (f *Frames) Buffered() (event Frame, ok bool, err error) {
	if !f.started {
		if f.in.at == f.in.to {
			return Frame{}, false, nil
		}
		// A protobuf event begins with the high byte of its length, which is small; JSON begins with a
		// printable byte.
		if f.started = true; f.in.buf[f.in.at] < '\t' {
			f.format = object.Protobuf
		}
	}
	if f.format == object.Protobuf {
		event, ok, err = f.in.message()
	} else {
		event, ok, err = f.in.line()
	}
	if ok && event.Kind == watch.Error {
		return Frame{}, false, f.failure(event.Object)
	}
	return event, ok, err
}

// line returns the next JSON event if the buffer holds all of it.
func (s *Stream) line() (event Frame, ok bool, err error) {
	value, err := s.buffered()
	if value == nil || err != nil {
		return Frame{}, false, err
	}
	c := object.NewCursor(value)
	c.Fields(func(name []byte) bool {
		switch string(name) {
		case "type":
			event.Kind = eventType(c.String())
		case "object":
			event.Object = bytes.Clone(c.Skip())
		default:
			c.Skip()
		}
		return true
	})
	if c.Err() != nil {
		return Frame{}, false, fmt.Errorf("%w: %w", ErrUnreadable, c.Err())
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
func (f *Frames) failure(data []byte) error {
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

// Format returns the encoding of the events that Next has returned.
func (f *Frames) Format() object.Format { return f.format }

// Stop ends the watch, and a Next that waits. Any goroutine may call it.
func (f *Frames) Stop() {
	f.cancel()
	f.in.body.Close()
}

// Bookmark decodes a bookmark: its revision, and whether it ends a streamed list.
func (f *Frames) Bookmark(data []byte) (revision object.Revision, endsList bool, err error) {
	var meta metav1.PartialObjectMetadata
	if f.format == object.Protobuf {
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(bytes.TrimPrefix(data, []byte(object.ProtobufMagic))); err == nil {
			err = meta.Unmarshal(envelope.Raw)
		}
	} else {
		err = utiljson.Unmarshal(data, &meta)
	}
	if err != nil {
		return 0, false, err
	}
	revision, err = object.ParseRevision(meta.ResourceVersion)
	return revision, meta.Annotations[metav1.InitialEventsAnnotationKey] == "true", err
}
