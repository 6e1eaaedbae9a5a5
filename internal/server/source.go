package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// Source returns the in-process list and watch of a user. Requests are authorized like those over HTTP, and
// yield the store's own objects: nothing is encoded.
func (s *Server) Source(user *auth.User) client.Source { return source{s, user} }

type source struct {
	s    *Server
	user *auth.User
}

var _ client.Source = source{}

// call authorizes a list or watch and returns its selection.
func (src source) call(ctx context.Context, verb string, gvr schema.GroupVersionResource,
	o client.Options) (*selection, error) {
	c := &call{route: &route{resource: true, verb: verb, gvr: gvr, namespace: o.Namespace, path: "in process"},
		user: src.user}
	if err := src.s.authorize(ctx, *c.route, src.user); err != nil {
		return nil, err
	}
	entry, ok := src.s.kinds.Find(gvr)
	if !ok {
		if err := src.s.undefined(gvr.GroupResource()); err != nil {
			return nil, wireError(err)
		}
		return nil, apierrors.NewNotFound(gvr.GroupResource(), "")
	}
	c.kind, c.endpoint = entry.Kind, entry.Endpoint
	selected, err := c.selectionOf(url.Values{}, false)
	if err != nil {
		return nil, err
	}
	selected.uninitialized = o.Uninitialized
	selected.selectLabels(o.Labels)
	if o.Fields != nil {
		if err := c.selectable(o.Fields); err != nil {
			return nil, err
		}
		selected.narrow(c, o.Fields, false)
	}
	return selected, nil
}

// List implements client.Source.
func (src source) List(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.List, error) {
	selected, err := src.call(ctx, "list", gvr, o)
	if err != nil {
		return client.List{}, err
	}
	snapshot, err := src.s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return client.List{}, wireError(err)
	}
	out := client.List{Revision: snapshot.Revision(), Codec: selected.codec()}
	selected.scan(snapshot, "", func(obj *object.Object) bool {
		if selected.matches(obj) {
			obj, err = selected.shown(out.Codec, obj)
			out.Items = append(out.Items, obj)
		}
		return err == nil
	})
	if err != nil {
		return client.List{}, wireError(err)
	}
	return out, nil
}

// Watch implements client.Source.
func (src source) Watch(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.Watch, error) {
	selected, err := src.call(ctx, "watch", gvr, o)
	if err != nil {
		return nil, err
	}
	changes, err := src.s.store.Watch(selected.prefix, o.After, selected.needs()...)
	if err != nil {
		return nil, wireError(err)
	}
	_, closed := src.s.metrics.watching(&route{resource: true, gvr: gvr, namespace: o.Namespace})
	return &sourceWatch{s: src.s, selected: selected, changes: changes, closed: closed, ended: selected.ended,
		stopped: make(chan struct{})}, nil
}

// wireError returns an error of the store as the Status that a client of the API receives.
func wireError(err error) error {
	status := statusOf(err)
	return &apierrors.StatusError{ErrStatus: status}
}

// sourceWatch is an in-process watch.
type sourceWatch struct {
	s        *Server
	selected *selection
	changes  *store.Watch
	closed   func() // decrements the metric of open watches
	ended    <-chan struct{}
	stopped  chan struct{}
	once     sync.Once
}

// Next implements client.Watch.
func (w *sourceWatch) Next(ctx context.Context) ([]client.Event, error) {
	for last := false; ; {
		changed := w.changes.Changed()
		events, err := w.changes.Take(batch)
		if err != nil {
			return nil, sourceEnd(err)
		}
		out, err := w.seen(events)
		if err != nil || len(out) > 0 {
			return out, err
		}
		if len(events) > 0 {
			continue
		}
		if last {
			return nil, io.EOF
		}
		select {
		case <-w.ended: // changes up to now are still returned
			last = true
		case <-changed:
		case <-w.stopped:
			return nil, io.EOF
		case <-w.s.ctx.Done():
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// seen returns the selected events. An event whose object cannot be converted ends the watch, so that its
// reader lists again and misses no change.
func (w *sourceWatch) seen(events []*object.Event) ([]client.Event, error) {
	var out []client.Event
	codec := w.selected.codec()
	for _, e := range events {
		kind, ok := w.selected.typeOf(e)
		if !ok {
			continue
		}
		shown := e.Object
		if kind == watch.Deleted {
			var err error
			if shown, err = e.Shown(kind); err != nil {
				return nil, unshown(err)
			}
		}
		shown, err := w.selected.shown(codec, shown)
		if err != nil {
			return nil, unshown(err)
		}
		out = append(out, client.Event{Type: kind, Object: shown, Codec: codec, Revision: e.Revision()})
	}
	return out, nil
}

// unshown is the error of a watch whose next event cannot be converted. A new watch would receive the same
// event.
func unshown(err error) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("this watch came to an event that cannot be shown; list again: %v",
		err))
}

// sourceEnd maps the end of a watch to io.EOF, or to an error that makes the reader list again.
func sourceEnd(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return io.EOF
	}
	if errors.Is(err, store.ErrSlow) {
		return apierrors.NewResourceExpired("this watch fell behind the history of changes that the server keeps; list again")
	}
	return wireError(err)
}

// Stop implements client.Watch.
func (w *sourceWatch) Stop() {
	w.once.Do(func() {
		close(w.stopped)
		w.changes.Stop()
		w.closed()
	})
}
