package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/read"
	"github.com/bowline-dev/bowline/internal/server/render"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/store"
)

// watchTask is the name of an open watch among the tasks of the server.
const watchTask = "open watches"

// watching streams the events of a feed to one client.
type watching struct {
	h      *Handler
	req    *request.Request
	feed   *read.Feed
	events render.Events
	stream *stream
	timer  *time.Timer // nil until the initial state was sent
	close  func()      // releases what Handler.watch acquired
}

// watch starts to stream the changes of a resource: it sends the head of the answer and the initial state. ServeHTTP
// streams what follows, once the request's seats and stack frames are released.
func (h *Handler) watch(x *exchange, rw http.ResponseWriter, req *request.Request) error {
	feed, err := h.o.Read.Watch(req)
	if err != nil {
		return err
	}
	frames, err := render.NewEvents(req)
	if err != nil {
		return err
	}
	if !h.o.Tasks.Begin(watchTask) {
		return store.ErrClosed
	}
	snapshot, err := feed.Begin() // before the head of the answer, which tells the client that the watch has started
	sent, uncount := h.o.Metrics.Watching(&x.route)
	w := &watching{h: h, req: req, feed: feed, events: frames, stream: newStream(rw, req, h.o.Patience, sent)}
	req.Query, req.Warnings, req.Body = nil, nil, nil // memory that an open watch does not need
	unhurry := context.AfterFunc(h.o.Tasks.Context(), w.stream.shortenPatience)
	w.close = func() {
		feed.Stop()
		if w.timer != nil {
			w.timer.Stop()
		}
		unhurry()
		w.stream.close()
		uncount()
		h.o.Tasks.Done(watchTask)
	}
	defer func() {
		if x.watch == nil {
			w.close()
		}
	}()
	if err == nil && snapshot != nil {
		err = w.initial(snapshot)
	}
	if err != nil {
		w.fail(err) // has no effect if the client disconnected
		return nil
	}
	if w.stream.flush() == nil {
		req.Spans.End(x.code, x.written)
		x.watch = w
	}
	return nil
}

// initial sends the objects of a snapshot as ADDED events, then, if the client asked for bookmarks, one that
// marks the end of the initial state (KEP-3157).
func (w *watching) initial(snapshot *store.Snapshot) error {
	err := w.feed.Initial(snapshot, func(e *object.Event) error {
		frame, err := w.events.Frame(e, watch.Added)
		if err == nil {
			err = w.stream.write(frame)
		}
		return err
	})
	if err == nil && w.feed.Bookmarks {
		err = w.bookmark(true)
	}
	return err
}

// follow sends changes until the watch ends. State that lives from one change to the next is in w, to keep
// the stack small.
func (w *watching) follow() {
	defer w.close()
	err := w.feed.Follow()
	if err == nil {
		w.timer = time.NewTimer(w.feed.Pause())
	}
	for err == nil {
		var events []*object.Event
		switch events, err = w.feed.Next(w.req.Context(), w.timer.C); {
		case err != nil:
		case events != nil:
			err = w.deliver(events)
		case w.feed.Over():
			return
		default:
			err = w.tick()
			w.timer.Reset(w.feed.Pause())
		}
	}
	if err != io.EOF { // the regular end
		w.fail(err)
	}
}

// deliver sends the events that the client sees, and flushes them.
func (w *watching) deliver(events []*object.Event) error {
	for _, e := range events {
		t, seen := w.feed.Type(e)
		if !seen {
			continue
		}
		frame, err := w.events.Frame(e, t)
		if err == nil {
			err = w.stream.write(frame)
		}
		if err != nil {
			return err
		}
	}
	return w.stream.flush()
}

// tick sends a bookmark if the client asked for bookmarks, and frees the buffer of an idle stream. The bookmark also
// shows that the connection is alive: clients give up on a server that is silent for long.
func (w *watching) tick() error {
	w.stream.rest()
	if !w.feed.Bookmarks {
		return nil
	}
	if err := w.bookmark(false); err != nil {
		return err
	}
	return w.stream.flush()
}

// bookmark writes a bookmark: an empty object that carries a revision.
func (w *watching) bookmark(endOfInitial bool) error {
	frame, err := w.events.Bookmark(w.feed.Revision(), endOfInitial)
	if err != nil {
		return err
	}
	return w.stream.write(frame)
}

// fail sends the error that ends the watch as an event, such as a compacted or a future revision. Nothing is sent at
// the regular end of the watch, or if the client must list again anyway.
func (w *watching) fail(err error) {
	status, ok := read.Failure(err)
	if !ok || w.stream.broken {
		return
	}
	if status.Code == http.StatusInternalServerError {
		w.h.o.Log.Error("a watch failed", "path", w.req.Path, "error", err)
	}
	frame, err := w.events.Error(status)
	if err != nil {
		return
	}
	w.stream.write(frame)
	w.stream.flush()
}
