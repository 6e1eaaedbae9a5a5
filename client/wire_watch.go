package client

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// wireWatch is a watch over the network.
type wireWatch struct {
	codec    *wireCodec
	resource schema.GroupResource
	objects  *object.Receiver
	frames   *frames
	err      error // returned by Next after the events before it
}

// mostEvents is the largest number of events that Next returns.
const mostEvents = 256

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

// watch starts a watch. It asks the server to end it after five to ten minutes, so that the watches of many
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
		frames:   &frames{in: &stream{body: body}, cancel: cancel},
	}, nil
}

// Next waits for an event and returns it with those that are already buffered.
func (w *wireWatch) Next(ctx context.Context) ([]Event, error) {
	if w.err != nil {
		return nil, w.err
	}
	unlink := context.AfterFunc(ctx, w.frames.stop)
	defer unlink()
	first, err := w.frames.next()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	events := []Event{w.event(first)}
	for len(events) < mostEvents {
		more, ok, err := w.frames.ready()
		if !ok {
			w.err = err
			break
		}
		events = append(events, w.event(more))
	}
	return events, nil
}

// event converts a frame.
func (w *wireWatch) event(f frame) Event {
	if f.kind == watch.Bookmark {
		revision, _, err := w.frames.bookmark(f.object)
		if err != nil {
			return w.unreadable(err)
		}
		return Event{Type: watch.Bookmark, Revision: revision}
	}
	o, err := w.objects.Receive(w.frames.format, f.object)
	if err != nil {
		return w.unreadable(err)
	}
	return Event{Type: f.kind, Object: o, Codec: w.codec, Revision: o.Revision}
}

func (w *wireWatch) unreadable(err error) Event {
	return Event{Type: watch.Error, Err: fmt.Errorf("event of a watch of %s: %w", w.resource, err)}
}

// bookmark decodes a bookmark: its revision, and whether it ends a streamed list.
func (f *frames) bookmark(data []byte) (revision object.Revision, endsList bool, err error) {
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

// Stop ends the watch.
func (w *wireWatch) Stop() { w.frames.stop() }
