package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/wire"
)

// Stream is a running watch of typed objects. Next must be called by one goroutine at a time; any goroutine
// may call Stop.
type Stream[T Object] struct{ frames *wire.Frames }

// Next waits for the next event. io.EOF is the orderly end of the watch. An event of type Error is returned
// as the Status error that it holds. The object of a bookmark has only a resourceVersion. The caller owns the
// object.
func (s *Stream[T]) Next() (watch.EventType, T, error) {
	event, err := s.frames.Next()
	if err != nil {
		return "", *new(T), err
	}
	obj, err := wire.Decode[T](event.Object)
	return event.Kind, obj, err
}

// Stop ends the watch, and a Next that waits.
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
