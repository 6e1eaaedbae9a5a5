package server

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

const (
	// shortestWatch is the minimum duration of a watch whose client sets no timeout. The maximum is twice as
	// long, so that clients that connected together do not reconnect together.
	shortestWatch = 30 * time.Minute
	// bookmarkEvery is the interval between the bookmarks of a watch that asked for them.
	bookmarkEvery = time.Minute
	// bookmarkBefore is the time between the last bookmark and the end of the watch.
	bookmarkBefore = 2 * time.Second
	// batch is the maximum number of events, and batchBytes of gathered bytes, before a write.
	batch      = 256
	batchBytes = 64 << 10
)

// watching is one watch stream.
type watching struct {
	c         *call
	s         *Server
	selected  *selection
	stream    *stream
	after     object.Revision // the watch delivers later revisions; 0 for any
	state     bool            // the client asks for the state first
	bookmarks bool
	ends      time.Time
	form      object.Form     // of the events, unless they are transformed
	sent      object.Revision // all events up to here were sent, or covered by a bookmark

	changes *store.Watch // nil until the initial state was sent
	timer   *time.Timer  // of changes
	last    bool         // the watch ends after the changes up to now
	over    bool
	close   func() // releases what Server.watch acquired
}

// watch starts to stream the changes of a resource: it sends the head of the answer and the initial state.
// The exchange streams what follows, once the request's seats and stack frames are released.
func (s *Server) watch(c *call) error {
	w, err := s.newWatching(c)
	if err != nil {
		return err
	}
	if !s.begin() {
		return store.ErrClosed
	}
	c.spans.at(stageAnswer)
	snapshot, err := w.begin()
	events, uncount := s.metrics.watching(c.route)
	w.stream = newStream(c, s.patience, events)
	unhurry := context.AfterFunc(s.ctx, w.stream.hurry)
	w.close = func() {
		if w.changes != nil {
			w.changes.Stop()
			w.timer.Stop()
		}
		unhurry()
		w.stream.close()
		uncount()
		s.work.Done()
	}
	follows := false
	defer func() {
		if !follows {
			w.close()
		}
	}()
	if follows = w.run(snapshot, err); follows {
		c.exchange.watch = w
	}
	return nil
}

// newWatching parses and validates the options of a watch.
func (s *Server) newWatching(c *call) (*watching, error) {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return nil, err
	}
	q := c.http.URL.Query()
	o, err := c.listOptions(q)
	if err != nil {
		return nil, err
	}
	selected, err := c.selectionOf(q, false)
	if err != nil {
		return nil, err
	}
	after, err := watchedFrom(o)
	if err != nil {
		return nil, err
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if initial {
		if err := s.tellDamage(c, selected); err != nil {
			return nil, err
		}
	}
	if c.accept.as == asTable {
		if _, err := c.includeObject(); err != nil {
			return nil, err
		}
	}
	return &watching{
		c: c, s: s, selected: selected, after: after, state: initial, bookmarks: o.AllowWatchBookmarks,
		form: c.accept.form(c.endpoint.GroupVersion()), ends: time.Now().Add(lifetime(o)),
	}, nil
}

// begin fixes the revision that the watch starts after. It runs before the head of the answer, which tells
// the client that the watch has started. The snapshot is nil unless the client asked for the initial state.
func (w *watching) begin() (*store.Snapshot, error) {
	if !w.state {
		if w.after == 0 {
			w.after = w.s.store.Current()
		}
		return nil, nil
	}
	snapshot, err := w.newest()
	if err == nil {
		w.after = snapshot.Revision()
	}
	return snapshot, err
}

// run sends the initial state, if there is a snapshot, and reports whether changes follow. An error,
// including that of begin, is sent as an event.
func (w *watching) run(snapshot *store.Snapshot, err error) bool {
	if err == nil && snapshot != nil {
		err = w.initial(snapshot)
	}
	if err != nil {
		w.fail(err) // has no effect if the client disconnected
		return false
	}
	if w.stream.flush() != nil {
		return false
	}
	w.c.spans.end()
	return true
}

// watchedFrom returns the revision that the watch starts after; 0 for any.
func watchedFrom(o *internalversion.ListOptions) (object.Revision, error) {
	if o.ResourceVersion == "" || o.ResourceVersion == "0" {
		return 0, nil
	}
	after, err := object.ParseRevision(o.ResourceVersion)
	if err != nil {
		return 0, internalText(invalidRevision(o.ResourceVersion))
	}
	return after, nil
}

// newest returns a snapshot of the newest state, which is at least the revision that the client names.
func (w *watching) newest() (*store.Snapshot, error) {
	at := store.Latest()
	if w.after > 0 {
		at = store.AtLeast(w.after)
	}
	return w.s.store.Snapshot(w.c.context(), at)
}

// lifetime returns how long the watch lasts unless the client disconnects or the server closes. A negative
// timeout, which a client computes when its own deadline has passed, ends the watch at once.
func lifetime(o *internalversion.ListOptions) time.Duration {
	if o.TimeoutSeconds == nil || *o.TimeoutSeconds == 0 {
		return shortestWatch + rand.N(shortestWatch)
	}
	const longest = int64(math.MaxInt64 / time.Second)
	return time.Duration(max(0, min(*o.TimeoutSeconds, longest))) * time.Second
}

// initial sends the objects of a snapshot as ADDED events, then, if the client asked for bookmarks, one that
// marks the end of the initial state (KEP-3157). A slow client keeps its watch, but gives its seats back
// after the request timeout.
func (w *watching) initial(snapshot *store.Snapshot) error {
	var err error
	slow := time.Now().Add(w.s.timeout)
	w.selected.scan(snapshot, "", func(obj *object.Object) bool {
		if time.Now().After(slow) {
			w.c.exchange.seats.Leave()
		}
		if w.selected.matches(obj) {
			err = w.send(&object.Event{Object: obj}, watch.Added)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	w.sent = snapshot.Revision()
	if w.bookmarks {
		return w.bookmark(true)
	}
	return nil
}

// follow sends changes until the watch ends. State that lives from one change to the next is in w, to keep
// the stack small.
func (w *watching) follow() {
	defer w.close()
	changes, err := w.s.store.Watch(w.selected.prefix, w.after, w.selected.needs()...)
	if err != nil {
		w.fail(err)
		return
	}
	w.changes, w.timer = changes, time.NewTimer(w.pause())
	for err == nil && !w.over {
		changed := w.changes.Changed()
		var more bool
		if more, err = w.drain(); err != nil || more {
			continue
		}
		if w.last {
			return
		}
		err = w.wait(changed)
	}
	if err != nil {
		w.fail(err)
	}
}

// wait returns when there are changes, when a bookmark is due, or when the watch is over.
func (w *watching) wait(changed <-chan struct{}) error {
	select {
	case <-w.c.ended(): // changes up to now are still sent
		w.last = true
	case <-changed:
		runtime.Gosched() // lets writers run first under load, so that one write carries their events as well
	case <-w.timer.C:
		if w.over = !time.Now().Before(w.ends); w.over {
			return nil
		}
		err := w.tick()
		w.timer.Reset(w.pause())
		return err
	case <-w.c.context().Done():
		w.over = true
	case <-w.s.ctx.Done():
		w.over = true
	}
	return nil
}

// ended returns a channel that is closed when the kind is replaced or removed; nil for a built-in kind.
func (c *call) ended() <-chan struct{} {
	if e, ok := c.kind.(kind.Custom); ok {
		return e.Ended()
	}
	return nil
}

// pause returns how long the watch waits before its next tick: the bookmark interval, or less shortly before
// the end, so that a client with bookmarks resumes from its last position.
func (w *watching) pause() time.Duration {
	left := time.Until(w.ends)
	if w.bookmarks && left > bookmarkBefore {
		left -= bookmarkBefore
	}
	return min(left, bookmarkEvery)
}

// tick sends a bookmark if the client asked for bookmarks, and frees the buffer of an idle stream.
func (w *watching) tick() error {
	w.stream.rest()
	if !w.bookmarks {
		return nil
	}
	return w.progress()
}

// fail sends the error that ends the watch as an event, such as a compacted or a future revision.
func (w *watching) fail(err error) {
	var compacted *store.CompactedError
	var future *store.FutureError
	var status metav1.Status
	switch {
	case errors.As(err, &compacted):
		status = apierrors.NewResourceExpired("too old resource version: " + compacted.Requested.String() + " (" +
			compacted.Oldest.String() + ")").Status()
	case errors.As(err, &future):
		status = tooLarge(future).Status()
	case errors.Is(err, store.ErrSlow), errors.Is(err, store.ErrClosed), w.stream.broken:
		return
	default:
		w.s.log.Error("a watch failed", "path", w.c.path, "error", err)
		status = internalError(err)
	}
	status.Kind, status.APIVersion = "Status", "v1"
	data, err := kind.Marshal(w.c.accept.format(), &status)
	if err != nil {
		return
	}
	w.stream.write(object.AppendFrame(nil, watch.Error, w.c.accept.format(), data))
	w.stream.flush()
}
