package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/wire"
)

// Stream is a running watch of typed objects, which Resource.Watch starts. Next must be called by one goroutine at a
// time; any goroutine may call Stop.
type Stream[T Object] struct{ frames *wire.Frames }

// Next waits for the next event. The error is io.EOF if the server ended the watch in order, and the Status error of an
// event of type Error. The object of a bookmark has only a resourceVersion. The caller owns the object.
func (s *Stream[T]) Next() (watch.EventType, T, error) {
	event, err := s.frames.Next()
	if err != nil {
		return "", *new(T), err
	}
	obj, err := wire.Decode[T](event.Object)
	return event.Kind, obj, err
}

// Stop ends the watch; a call of Next that waits returns an error. Stop may be called more than once.
func (s *Stream[T]) Stop() { s.frames.Stop() }

// watch starts a watch, which ends with ctx or stop.
func (c *Client) watch(ctx context.Context, q *rest.Request, options metav1.ListOptions) (*wire.Frames, error) {
	ctx, cancel := context.WithCancel(ctx)
	options.Watch = true
	body, err := c.options(q, &options).Stream(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return wire.NewFrames(body, cancel), nil
}
