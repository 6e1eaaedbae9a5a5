package client

import (
	"context"
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// wireWatch is a watch over the network.
type wireWatch struct {
	codec    *wire.Codec
	resource schema.GroupResource
	objects  *object.Receiver
	frames   *wire.Frames
	err      error // returned by Next after the events before it
}

// maxEvents is the largest number of events that Next returns.
const maxEvents = 256

// Watch watches the changes after options.After.
func (s *wireSource) Watch(ctx context.Context, resource schema.GroupVersionResource, options Options) (Watch, error) {
	query := listOptions(options)
	query.ResourceVersion = options.After.String()
	w, err := s.watch(ctx, resource, options, query)
	if err != nil {
		return nil, err // a nil Watch, not one that holds a nil *wireWatch
	}
	return w, nil
}

// watch starts a watch. It requests that the server end it after five to ten minutes, so that the watches of many
// clients get rebalanced across servers.
func (s *wireSource) watch(ctx context.Context, resource schema.GroupVersionResource, options Options,
	query metav1.ListOptions) (*wireWatch, error) {
	query.Watch = true
	query.AllowWatchBookmarks = true
	query.TimeoutSeconds = new(300 + rand.Int64N(300))
	ctx, cancel := context.WithCancel(ctx)
	body, err := open(ctx, s.request(resource, options, &query, ""))
	if err != nil {
		cancel()
		return nil, err
	}
	return &wireWatch{
		codec:    s.codec,
		resource: resource.GroupResource(),
		objects:  object.NewReceiver(resource.GroupResource(), s.codec),
		frames:   wire.NewFrames(body, cancel),
	}, nil
}

// Next waits for an event and returns it with those that are already buffered.
func (w *wireWatch) Next(ctx context.Context) ([]Event, error) {
	if w.err != nil {
		return nil, w.err
	}
	unlink := context.AfterFunc(ctx, w.frames.Stop)
	defer unlink()
	first, err := w.frames.Next()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	events := []Event{w.event(first)}
	for len(events) < maxEvents {
		more, ok, err := w.frames.Buffered()
		if !ok {
			w.err = err
			break
		}
		events = append(events, w.event(more))
	}
	return events, nil
}

// event converts a frame.
func (w *wireWatch) event(f wire.Frame) Event {
	if f.Kind == watch.Bookmark {
		revision, _, err := w.frames.Bookmark(f.Object)
		if err != nil {
			return w.unreadable(err)
		}
		return Event{Type: watch.Bookmark, Revision: revision}
	}
	o, err := w.objects.Receive(w.frames.Format(), f.Object)
	if err != nil {
		return w.unreadable(err)
	}
	return Event{Type: f.Kind, Object: o, Codec: w.codec, Revision: o.Revision}
}

func (w *wireWatch) unreadable(err error) Event {
	return Event{Type: watch.Error, Err: fmt.Errorf("event of a watch of %s: %w", w.resource, err)}
}

// Stop ends the watch.
func (w *wireWatch) Stop() { w.frames.Stop() }
