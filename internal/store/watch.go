package store

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// Watch is a position in the history of a prefix. It has no buffer: it reads the events from the history, and
// a watcher that does not keep up fails with ErrSlow when the history drops them. Only one goroutine may call its
// methods, except Stop.
type Watch struct {
	state *state
	topic *topic

	// next is the number of the first event of the topic's queue that was not delivered.
	next uint64
	// backlog and backlogEnd are numbers in the resource's queue. The events in [backlog, backlogEnd) were committed
	// before the watch started; the watch reads and filters them before those of the topic.
	resource            *eventQueue
	backlog, backlogEnd uint64

	revision object.Revision
	stopped  atomic.Bool
}

// Watch starts a watch of the changes of a prefix after a revision. The prefix is a resource or a namespace,
// which end with a slash, or one full key. The requirements are a hint: the store may omit the change of an object
// that fails one of them both before and after the change, but need not, so the caller must filter the events. Watch
// returns *CompactedError if the history does not reach back to the revision, and *FutureError if this store has not
// reached it. The caller must stop the watch.
func (s *Store) Watch(prefix object.Key, after object.Revision, requirements ...Requirement) (*Watch, error) {
	st := s.state
	st.lock.Lock()
	defer st.lock.Unlock()
	if st.closed != nil {
		return nil, st.closed
	}
	st.history.trim(time.Since(st.start))
	switch {
	case after < st.history.oldest:
		return nil, &CompactedError{Requested: after, Oldest: st.history.oldest}
	case after > st.current:
		return nil, &FutureError{Requested: after, Current: st.current}
	}
	if !strings.HasSuffix(string(prefix), "/") {
		requirements = nil // a single key needs no index
	}
	return st.watch(prefix, after, requirements), nil
}

// watch starts a watch with validated arguments. The caller holds the lock.
func (s *state) watch(prefix object.Key, after object.Revision, requirements []Requirement) *Watch {
	t := s.history.subscribe(prefix, requirements)
	w := &Watch{state: s, topic: t, revision: after, resource: s.history.queueOf(levels(prefix)[0])}
	if t.events == w.resource {
		w.next = position(t.events, after)
		return w
	}
	w.next = t.events.end()
	w.backlog, w.backlogEnd = position(w.resource, after), w.resource.end()
	return w
}

// Stop ends the watch; no other method may be called after it. It does not close the channel of Changed.
func (w *Watch) Stop() {
	if w.stopped.Swap(true) {
		return
	}
	w.state.lock.Lock()
	defer w.state.lock.Unlock()
	w.state.history.unsubscribe(w.topic)
}

// Changed returns a channel that is closed when Take may have an event or an error to return.
func (w *Watch) Changed() <-chan struct{} {
	defer w.state.lock.read().RUnlock()
	if w.state.closed != nil || w.backlog < w.backlogEnd || w.next < w.topic.events.end() {
		return w.state.ready
	}
	return w.topic.wake.wait()
}

// Revision returns the revision up to which everything was delivered; another watch may resume from it. A call of
// Take that reaches the end of the events also advances it past commits that do not concern the watch.
func (w *Watch) Revision() object.Revision { return w.revision }

// maxScan is how many events Take examines before it releases the lock for commits.
const maxScan = 1024

// Take returns the next events in order, nil if there are none. It never waits. It may return a few more events
// than limit, because it does not split the events of a commit. It returns ErrSlow if the history dropped events
// before they were taken, and ErrClosed after Close; an error is final.
func (w *Watch) Take(limit int) (events []*object.Event, err error) {
	for more := true; more; {
		if events, more, err = w.scan(events, max(limit, 1)); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// scan appends some of the next events, and reports whether to call it again for more.
func (w *Watch) scan(events []*object.Event, limit int) ([]*object.Event, bool, error) {
	defer w.state.lock.read().RUnlock()
	full := false
	switch q := w.topic.events; {
	case w.state.closed != nil:
		return nil, false, w.state.closed
	case w.backlog < w.backlogEnd:
		if w.backlog < w.resource.first {
			return nil, false, ErrSlow
		}
		stop := min(w.backlogEnd, w.backlog+maxScan)
		events, w.backlog, full = w.collect(w.resource, w.backlog, stop, events, limit)
	case w.next < q.first:
		return nil, false, ErrSlow
	case w.next < q.end():
		if events == nil {
			events = make([]*object.Event, 0, min(limit, int(q.end()-w.next)))
		}
		events, w.next, full = w.collect(q, w.next, min(q.end(), w.next+maxScan), events, limit)
	default:
		w.revision = w.state.current
		return events, false, nil
	}
	if full {
		w.revision = events[len(events)-1].Revision()
	}
	return events, !full, nil
}

// collect appends the events with numbers in [n, stop) that concern the watch, up to about limit. It returns
// the number of the next event to examine, and whether the limit was reached.
func (w *Watch) collect(q *eventQueue, n, stop uint64, events []*object.Event,
	limit int) ([]*object.Event, uint64, bool) {
	for ; n < stop; n++ {
		e := *q.at(n)
		if q != w.topic.events && !w.topic.matches(e) {
			continue
		}
		if have := len(events); have >= limit && events[have-1].Revision() != e.Revision() {
			return events, n, true
		}
		events = append(events, e)
	}
	return events, n, false
}
