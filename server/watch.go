package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
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
	bookmarks bool
	form      object.Form     // of the events, unless they are transformed
	sent      object.Revision // everything up to here was sent, or told by a bookmark
}

// watch streams the changes of a resource.
func (s *Server) watch(c *call) error {
	if err := c.negotiate(asTable, asPartial); err != nil {
		return err
	}
	q := c.http.URL.Query()
	o, err := c.listOptions(q)
	if err != nil {
		return err
	}
	selected, err := c.selectionOf(q, false)
	if err != nil {
		return err
	}
	after, err := watchedFrom(o)
	if err != nil {
		return err
	}
	if initial := o.SendInitialEvents; initial != nil && *initial {
		if err := s.tellDamage(c, selected); err != nil {
			return err
		}
	}
	if c.accept.as == asTable {
		if _, err := c.includeObject(); err != nil {
			return err
		}
	}
	if !s.begin() {
		return store.ErrClosed
	}
	defer s.work.Done()
	w := &watching{c: c, s: s, selected: selected, bookmarks: o.AllowWatchBookmarks, form: c.accept.form(c.endpoint.GroupVersion())}
	ctx, cancel := w.lifetime(o)
	defer cancel()
	c.spans.at(stageAnswer)
	events, closed := s.metrics.watching(&c.route)
	defer closed()
	w.stream = newStream(c, s.patience, events)
	defer w.stream.close()
	defer context.AfterFunc(s.ctx, w.stream.hurry)()
	w.run(ctx, after, o)
	return nil
}

// run sends the state where the client asked for it, and then the changes. What goes wrong from here on is an event.
func (w *watching) run(ctx context.Context, after object.Revision, o *internalversion.ListOptions) {
	switch {
	case o.SendInitialEvents != nil && *o.SendInitialEvents:
		snapshot, err := w.state(after)
		if err != nil {
			w.fail(err)
			return
		}
		if err := w.initial(snapshot); err != nil {
			w.fail(err) // unless the client is gone, and there is nobody to tell
			return
		}
		after = snapshot.Revision()
	case after == 0:
		after = w.s.store.Current()
	}
	if w.stream.flush() == nil {
		w.c.spans.end()
		w.c.seats.Leave() // a watch that waits for changes takes nothing from others
		w.follow(ctx, after)
	}
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

// state is the newest state, when it is not older than a revision.
func (w *watching) state(notBefore object.Revision) (*store.Snapshot, error) {
	at := store.Latest()
	if notBefore > 0 {
		at = store.AtLeast(notBefore)
	}
	return w.s.store.Snapshot(w.c.context(), at)
}

// lifetime ends the watch at its timeout, when the client goes and when the server closes.
func (w *watching) lifetime(o *internalversion.ListOptions) (context.Context, context.CancelFunc) {
	lasts := shortestWatch + rand.N(shortestWatch)
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		lasts = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(w.c.context(), lasts)
	stop := context.AfterFunc(w.s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// initial sends the objects of a snapshot as added, and, to a client that takes bookmarks, one that ends them (KEP-3157).
func (w *watching) initial(snapshot *store.Snapshot) error {
	var err error
	w.selected.scan(snapshot, "", func(obj *object.Object) bool {
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

// follow sends changes until the watch ends.
func (w *watching) follow(ctx context.Context, after object.Revision) {
	changes, err := w.s.store.Watch(w.selected.prefix, after, w.selected.needs()...)
	if err != nil {
		w.fail(err)
		return
	}
	defer changes.Stop()
	tick, lastTick, stop := w.ticker(ctx)
	defer stop()
	ended, last := w.c.ended(), false
	for {
		changed := changes.Changed()
		more, err := w.drain(changes)
		if err != nil {
			w.fail(err)
			return
		}
		if more {
			continue
		}
		if last {
			return
		}
		select {
		case <-ended: // what was written until then is still sent
			last = true
		case <-changed:
			runtime.Gosched() // under load, let writers run first: what they add goes out in the same write
		case <-tick:
			err = w.progress(changes)
		case <-lastTick:
			err = w.progress(changes)
		case <-ctx.Done():
			return
		}
		if err != nil {
			w.fail(err)
			return
		}
	}
}

// ended is closed when the call's kind is served differently or no longer; nil for a kind that lasts.
func (c *call) ended() <-chan struct{} {
	if e, ok := c.kind.(kind.Ender); ok {
		return e.Ended()
	}
	return nil
}

// ticker paces bookmarks, for a watch that wants them: at every interval, and shortly before the watch ends, so that its
// client resumes where it stood.
func (w *watching) ticker(ctx context.Context) (tick, last <-chan time.Time, stop func()) {
	if !w.bookmarks {
		return nil, nil, func() {}
	}
	every := time.NewTicker(bookmarkEvery)
	ends, _ := ctx.Deadline() // every watch has one
	left := time.Until(ends) - bookmarkBefore
	if left <= 0 {
		return every.C, nil, every.Stop
	}
	once := time.NewTimer(left)
	return every.C, once.C, func() { every.Stop(); once.Stop() }
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
