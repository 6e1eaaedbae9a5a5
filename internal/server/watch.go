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
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

const (
	// shortestWatch is how long a watch lasts whose client sets no timeout, at least; at most twice as long, so that
	// clients which began together do not come back together.
	shortestWatch = 30 * time.Minute
	// bookmarkEvery is how often a watch that asked for bookmarks hears how far it is.
	bookmarkEvery = time.Minute
	// bookmarkBefore is how long before the end of a watch the last bookmark comes.
	bookmarkBefore = 2 * time.Second
	// batch is how many events are taken, and how many bytes gathered, before a write.
	batch      = 256
	batchBytes = 64 << 10
)

// watching is one watch stream.
type watching struct {
	c         *call
	s         *Server
	selected  *selection
	stream    *stream
	after     object.Revision // what the watch begins after; 0 for any state
	state     bool            // the client asks for the state first
	bookmarks bool
	ends      time.Time
	form      object.Form     // of the events, unless they are transformed
	sent      object.Revision // everything up to here was sent, or told by a bookmark

	changes *store.Watch // nil before the state was sent
	timer   *time.Timer  // of changes
	last    bool         // what there is now is sent, and no more
	over    bool
	close   func() // ends what watch began
}

// watch begins to stream the changes of a resource: it sends the head of the answer and the state. What follows is the
// exchange's to do, once the request's seats and the frames of all that led here are free again.
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

// newWatching reads what a watch is asked for.
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

// begin settles what the watch begins after, before the head of the answer, which tells the client that it has begun. The
// snapshot is of a watch that sends the state first.
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

// run sends the state, if there is a snapshot of it, and says whether the changes are to follow. What has gone wrong, here or
// where the watch began, is an event.
func (w *watching) run(snapshot *store.Snapshot, err error) bool {
	if err == nil && snapshot != nil {
		err = w.initial(snapshot)
	}
	if err != nil {
		w.fail(err) // unless the client is gone, and there is nobody to tell
		return false
	}
	if w.stream.flush() != nil {
		return false
	}
	w.c.spans.end()
	return true
}

// watchedFrom is the revision that the watch starts after; 0 for any.
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

// newest is the newest state, when it is not older than the revision that the client names.
func (w *watching) newest() (*store.Snapshot, error) {
	at := store.Latest()
	if w.after > 0 {
		at = store.AtLeast(w.after)
	}
	return w.s.store.Snapshot(w.c.context(), at)
}

// lifetime is how long the watch lasts, unless the client goes or the server closes. A time that has passed already, as of
// a client that takes what it used from what it has, ends it at once.
func lifetime(o *internalversion.ListOptions) time.Duration {
	if o.TimeoutSeconds == nil || *o.TimeoutSeconds == 0 {
		return shortestWatch + rand.N(shortestWatch)
	}
	const longest = int64(math.MaxInt64 / time.Second)
	return time.Duration(max(0, min(*o.TimeoutSeconds, longest))) * time.Second
}

// initial sends the objects of a snapshot as added, and, to a client that takes bookmarks, one that ends them (KEP-3157). A
// client that takes its time keeps its watch, but not the seats of others.
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

// follow sends changes until the watch ends. What it keeps from one change to the next is not on the stack.
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

// wait returns when there is something to do, or the watch is over.
func (w *watching) wait(changed <-chan struct{}) error {
	select {
	case <-w.c.ended(): // what was written until then is still sent
		w.last = true
	case <-changed:
		runtime.Gosched() // under load, let writers run first: what they add goes out in the same write
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

// ended is closed when the call's kind is served differently or no longer; nil for a kind that lasts.
func (c *call) ended() <-chan struct{} {
	if e, ok := c.kind.(kind.Ender); ok {
		return e.Ended()
	}
	return nil
}

// pause is how long the watch waits until time alone makes it do something: a tick, at every interval and shortly before
// the end, so that a client who takes bookmarks resumes where it stood; or the end.
func (w *watching) pause() time.Duration {
	left := time.Until(w.ends)
	if w.bookmarks && left > bookmarkBefore {
		left -= bookmarkBefore
	}
	return min(left, bookmarkEvery)
}

// tick sends a bookmark to a client that takes them, and gives back what a watch that sends nothing does not need.
func (w *watching) tick() error {
	w.stream.rest()
	if !w.bookmarks {
		return nil
	}
	return w.progress()
}

// fail tells the client why its watch ends, where there is something to tell: a revision that is compacted, or that
// this server has never given out.
func (w *watching) fail(err error) {
	var compacted *store.CompactedError
	var future *store.FutureError
	var status metav1.Status
	switch {
	case errors.As(err, &compacted):
		status = apierrors.NewResourceExpired("too old resource version: " + compacted.Requested.String() + " (" + compacted.Oldest.String() + ")").Status()
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
