package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Source returns the in-process list and watch of a user. Requests are authorized like those over HTTP, and
// yield the store's own objects: nothing is encoded.
func (r *Reader) Source(user *auth.User) client.Source { return source{r, user} }

type source struct {
	reader *Reader
	user   *auth.User
}

var _ client.Source = source{}

// request authorizes a list or watch, and returns it with its selection.
func (src source) request(ctx context.Context, verb string, gvr schema.GroupVersionResource,
	o client.Options) (*request.Request, *selection, error) {
	route := &request.Route{IsResource: true, Verb: verb, GVR: gvr, Namespace: o.Namespace, Path: "in process"}
	if err := request.Authorize(ctx, src.reader.authorizer, route, src.user); err != nil {
		return nil, nil, err
	}
	entry, ok := src.reader.kinds.Find(gvr)
	if !ok {
		if err := src.reader.undefined(gvr.GroupResource()); err != nil {
			return nil, nil, status.Error(err)
		}
		return nil, nil, apierrors.NewNotFound(gvr.GroupResource(), "")
	}
	req := request.New(ctx, route, entry, src.user)
	selected, err := newSelection(req, false)
	if err != nil {
		return nil, nil, err
	}
	selected.uninitialized = o.Uninitialized
	selected.selectLabels(o.Labels)
	if o.Fields != nil {
		err = selected.selectFields(req, o.Fields, false)
	}
	return req, selected, err
}

// List implements client.Source.
func (src source) List(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.List, error) {
	req, selected, err := src.request(ctx, "list", gvr, o)
	if err != nil {
		return client.List{}, err
	}
	snapshot, err := src.reader.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return client.List{}, status.Error(err)
	}
	out := client.List{Revision: snapshot.Revision(), Codec: req.Codec()}
	selected.scan(snapshot, "", func(obj *object.Object) bool {
		if selected.matches(obj) {
			obj, err = stored.InVersion(req.Kind, out.Codec, obj)
			out.Items = append(out.Items, obj)
		}
		return err == nil
	})
	if err != nil {
		return client.List{}, status.Error(err)
	}
	return out, nil
}

// Watch implements client.Source.
func (src source) Watch(ctx context.Context, gvr schema.GroupVersionResource, o client.Options) (client.Watch, error) {
	req, selected, err := src.request(ctx, "watch", gvr, o)
	if err != nil {
		return nil, err
	}
	f := src.reader.feed(req, selected)
	f.after, f.stopped = o.After, make(chan struct{})
	if err := f.Follow(); err != nil {
		return nil, status.Error(err)
	}
	return &sourceWatch{feed: f, closed: src.reader.watching(req.Route)}, nil
}

// sourceWatch is an in-process watch.
type sourceWatch struct {
	feed   *Feed
	closed func() // counts the watch as closed
	once   sync.Once
}

// Next implements client.Watch. An event whose object cannot be converted ends the watch, so that its reader lists
// again and misses no change: a new watch would receive the same event.
func (w *sourceWatch) Next(ctx context.Context) ([]client.Event, error) {
	for {
		events, err := w.feed.Next(ctx, nil)
		switch {
		case err == io.EOF && ctx.Err() != nil:
			return nil, ctx.Err()
		case err == io.EOF, errors.Is(err, store.ErrClosed):
			return nil, io.EOF
		case errors.Is(err, store.ErrSlow):
			return nil, apierrors.NewResourceExpired(
				"this watch fell behind the history of changes that the server keeps; list again")
		case err != nil:
			return nil, status.Error(err)
		}
		var out []client.Event
		k := w.feed.req.Kind
		codec := kind.CodecOf(k)
		for _, e := range events {
			t, ok := w.feed.Type(e)
			if !ok {
				continue
			}
			shown, err := e.Object, error(nil)
			if t == watch.Deleted {
				shown, err = e.Shown(t)
			}
			if err == nil {
				shown, err = stored.InVersion(k, codec, shown)
			}
			if err != nil {
				return nil, apierrors.NewResourceExpired(fmt.Sprintf(
					"this watch reached an event that cannot be converted; list again: %v", err))
			}
			out = append(out, client.Event{Type: t, Object: shown, Codec: codec, Revision: e.Revision()})
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}

// Stop implements client.Watch.
func (w *sourceWatch) Stop() {
	w.once.Do(func() {
		close(w.feed.stopped)
		w.feed.Stop()
		w.closed()
	})
}
