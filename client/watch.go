package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Stream is a running watch of typed objects. Next is for one goroutine; Stop may be called from any.
type Stream[T Object] struct {
	frames *frames
}

// Next waits for the next event. io.EOF is the orderly end of a watch; an event of type Error is returned as the
// Status error that it holds. A bookmark's object has nothing but a resourceVersion.
func (s *Stream[T]) Next() (watch.EventType, T, error) {
	event, err := s.frames.next()
	if err != nil {
		return "", *new(T), err
	}
	obj, err := Decode[T](event.Object)
	return watch.EventType(event.Type), obj, err
}

// Stop ends the watch and a Next that waits.
func (s *Stream[T]) Stop() { s.frames.stop() }

// frames are the events of a watch as they come over the wire.
type frames struct {
	body    io.ReadCloser
	decoder *json.Decoder
	cancel  context.CancelFunc
}

// frame is one event with its object not read yet.
type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch starts a watch, which ends with ctx or stop.
func (c *Client) watch(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) (*frames, error) {
	ctx, cancel := context.WithCancel(ctx)
	options.Watch = true
	q := c.options(c.rest.Get().AbsPath(path(resource, namespace, "", "")...), &options)
	body, err := q.Stream(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &frames{body: body, decoder: json.NewDecoder(body), cancel: cancel}, nil
}

// next reads one event. A connection that breaks off gives io.ErrUnexpectedEOF or its own error.
func (f *frames) next() (frame, error) {
	var event frame
	if err := f.decoder.Decode(&event); err != nil {
		if err == io.EOF { // the decoder's own word for a stream that ends between two events
			return event, io.EOF
		}
		return event, fmt.Errorf("reading a watch: %w", err)
	}
	if event.Type == string(watch.Error) {
		return event, watchError(event.Object)
	}
	return event, nil
}

// watchError is the Status that an ERROR event holds.
func watchError(data []byte) error {
	status := &metav1.Status{}
	if err := json.Unmarshal(data, status); err != nil {
		return fmt.Errorf("reading the error that a watch ended with: %w", err)
	}
	return apierrors.FromObject(status)
}

func (f *frames) stop() {
	f.cancel()
	f.body.Close()
}
