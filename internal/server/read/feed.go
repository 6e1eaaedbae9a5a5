package read

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/store"
)

const (
	// minWatch is the minimum duration of a watch whose client sets no timeout. The maximum is twice as
	// long, so that clients that connected together do not reconnect together.
	minWatch = 30 * time.Minute
	// bookmarkInterval is the interval between the bookmarks of a watch that asked for them.
	bookmarkInterval = time.Minute
	// bookmarkLead is the time between the last bookmark and the end of the watch.
	bookmarkLead = 2 * time.Second
	// batch is the maximum number of events that Next returns, except that events of one commit are not separated.
	batch = 256
)

// Feed is one watch: the selected objects of a snapshot, if the client asked for them, and then the changes. It serves
// the watches over HTTP and those of a Source. Over HTTP, its user calls Begin, Initial if there is a snapshot, Follow,
// Next until the end, and Stop, in one goroutine. A Source starts with Follow.
type Feed struct {
	// Bookmarks reports whether the client asked for bookmarks.
	Bookmarks bool

	reader   *Reader
	req      *request.Request
	selected *selection
	after    object.Revision // the changes have later revisions; until Begin, 0 stands for any
	initial  bool            // the client asked for the initial state
	ends     time.Time       // of a watch over HTTP

	changes *store.Watch    // set by Follow
	ended   <-chan struct{} // closed when the kind is replaced or removed; nil for a built-in kind
	stopped chan struct{}   // closed when a Source's watch is stopped; nil over HTTP

	// The state of Next is here and not in its frame, which stays on the stack of each idle watch.

	// changed was fetched before the last Take. It is nil if that returned a full batch: more events may be ready.
	changed <-chan struct{}
	last    bool // ended is closed: the changes up to now are the last
	ticked  bool // the tick has fired, and Next has not returned for it
}

// Watch parses and validates the options of a watch.
func (r *Reader) Watch(req *request.Request) (*Feed, error) {
	o, err := req.ListOptions()
	if err != nil {
		return nil, err
	}
	selected, err := newSelection(req, false)
	if err != nil {
		return nil, err
	}
	f := r.feed(req, selected)
	if v := o.ResourceVersion; v != "" && v != "0" {
		if f.after, err = object.ParseRevision(v); err != nil {
			return nil, status.InternalText(invalidRevision(v))
		}
	}
	f.Bookmarks = o.AllowWatchBookmarks
	if f.initial = o.SendInitialEvents != nil && *o.SendInitialEvents; f.initial {
		if err := r.warnDamage(req, selected); err != nil {
			return nil, err
		}
	}
	lasts := minWatch
	if o.TimeoutSeconds == nil || *o.TimeoutSeconds == 0 {
		lasts += rand.N(minWatch)
	} else { // a client whose own deadline has passed computes a negative timeout: the watch ends at once
		const longest = int64(math.MaxInt64 / time.Second)
		lasts = time.Duration(max(0, min(*o.TimeoutSeconds, longest))) * time.Second
	}
	f.ends = time.Now().Add(lasts)
	return f, nil
}

// feed returns a feed of the selected objects.
func (r *Reader) feed(req *request.Request, selected *selection) *Feed {
	f := &Feed{reader: r, req: req, selected: selected}
	if c, ok := req.Kind.(kind.Custom); ok {
		f.ended = c.Ended()
	}
	return f
}

// Begin fixes the revision that the watch starts after. The caller sends the head of the answer afterwards, which tells
// the client that the watch has started. If the client asked for the initial state, Begin returns the newest snapshot;
// it has at least the revision that the client named. Otherwise it returns nil.
func (f *Feed) Begin() (*store.Snapshot, error) {
	f.req.Spans.At(stage.Answer)
	if !f.initial {
		if f.after == 0 {
			f.after = f.reader.store.Current()
		}
		return nil, nil
	}
	at := store.Latest()
	if f.after > 0 {
		at = store.AtLeast(f.after)
	}
	snapshot, err := f.reader.store.Snapshot(f.req.Context(), at)
	if err == nil {
		f.after = snapshot.Revision()
	}
	return snapshot, err
}

// Initial passes the selected objects of the snapshot from Begin to send, as ADDED events, until it returns an error. A
// slow client keeps its watch, but gives its seats back after Options.Timeout.
func (f *Feed) Initial(snapshot *store.Snapshot, send func(*object.Event) error) error {
	var err error
	slow := time.Now().Add(f.reader.timeout)
	f.selected.scan(snapshot, "", func(o *object.Object) bool {
		if time.Now().After(slow) {
			f.req.Seats.Leave()
		}
		if f.selected.matches(o) {
			err = send(&object.Event{Object: o})
		}
		return err == nil
	})
	return err
}

// Follow starts to follow the changes. The caller must call Stop.
func (f *Feed) Follow() (err error) {
	f.changes, err = f.reader.store.Watch(f.selected.prefix, f.after, f.selected.needs()...)
	return err
}

// Next waits for changes and returns a batch of them. It may include objects that the watch does not select: see Type.
// When tick fires, Next returns the changes that are ready, if there are any, and then once nil without an error; a
// Source has no tick. It returns io.EOF at the end of the watch: when the kind was replaced or removed, after the
// changes up to then; when the server closes; when ctx ends; and when the watch was stopped. Other errors are the
// store's.
func (f *Feed) Next(ctx context.Context, tick <-chan time.Time) ([]*object.Event, error) {
	if tick == nil {
		f.changed = nil // a Source returns what is ready before it looks for an end
	}
	for !f.ticked {
		if f.changed != nil {
			if f.last {
				return nil, io.EOF
			}
			select {
			case <-f.changed:
				if tick != nil { // over HTTP: writers run first under load, so that one write carries their events too
					runtime.Gosched()
				}
			case <-f.ended:
				f.last = true
			case <-tick:
				f.ticked = true
			case <-f.stopped:
				return nil, io.EOF
			case <-f.reader.tasks.Context().Done():
				return nil, io.EOF
			case <-ctx.Done():
				return nil, io.EOF
			}
		}
		f.changed = f.changes.Changed()
		events, err := f.changes.Take(batch)
		if len(events) >= batch { // the events of one commit are not separated
			f.changed = nil
		}
		if err != nil || len(events) > 0 {
			return events, err
		}
	}
	f.ticked = false
	return nil, nil
}

// Type returns the type of an event for the client, and false if the watch does not select it.
func (f *Feed) Type(e *object.Event) (watch.EventType, bool) {
	s := f.selected
	if s.everything() && (s.uninitialized || !e.ConcernsUninitialized()) {
		return e.Type(), true
	}
	return e.TypeFor(s.matches)
}

// Revision returns the revision of a bookmark: that of the initial state or, if Next was called, the one up to which it
// has returned all changes.
func (f *Feed) Revision() object.Revision {
	if f.changes == nil {
		return f.after
	}
	return f.changes.Revision()
}

// Pause returns how long a watch over HTTP waits before its next tick: the bookmark interval, or less shortly before
// the end, so that a client with bookmarks resumes from its last position.
func (f *Feed) Pause() time.Duration {
	left := time.Until(f.ends)
	if f.Bookmarks && left > bookmarkLead {
		left -= bookmarkLead
	}
	return min(left, bookmarkInterval)
}

// Over reports whether the time of a watch over HTTP has passed.
func (f *Feed) Over() bool { return !time.Now().Before(f.ends) }

// Stop stops following the changes. No other method is called after it.
func (f *Feed) Stop() {
	if f.changes != nil {
		f.changes.Stop()
	}
}

// Failure returns the Status that a client receives as the last event of a watch that failed, and false if the watch
// ends without one. A Status of code 500 is an internal error, which the caller logs.
func Failure(err error) (metav1.Status, bool) {
	var compacted *store.CompactedError
	var future *store.FutureError
	switch {
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired("too old resource version: " + compacted.Requested.String() + " (" +
			compacted.Oldest.String() + ")").Status(), true
	case errors.As(err, &future):
		return status.TooLarge(future).Status(), true
	case err == io.EOF, errors.Is(err, store.ErrSlow), errors.Is(err, store.ErrClosed):
		return metav1.Status{}, false
	}
	return status.Internal(err), true
}
