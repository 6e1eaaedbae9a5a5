package store

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Watch is a place in the history of a prefix. It has no buffer: the events are those of the history, and a watcher that
// does not keep up loses its place when the history moves on. All methods are for one goroutine, but Stop is for any.
type Watch struct {
	state *state
	topic *topic

	// next is the number of the first event of the topic's feed that was not taken.
	next uint64
	// past and present are numbers of the resource's feed: the watch began before its topic, and what is between concerns
	// it or not. It is looked at first.
	resource      *feed
	past, present uint64

	revision object.Revision
	stopped  atomic.Bool
}

// Watch begins to watch the changes of a prefix after a revision: a resource or a namespace, which end with a slash, or
// one full key. Of objects that do not meet all that is needed, neither before nor after a change, it may leave changes
// out; who needs something selects among what comes. *CompactedError when the history does not reach back to the revision,
// *FutureError when the store has not reached it: in the life of this store it never named a state. The caller must Stop
// the watch.
func (s *Store) Watch(prefix object.Key, after object.Revision, needs ...Requirement) (*Watch, error) {
	st := s.state
	st.lock.Lock()
	defer st.lock.Unlock()
	if st.closed != nil {
		return nil, st.closed
	}
	st.history.tidy(time.Since(st.start))
	switch {
	case after < st.history.oldest:
		return nil, &CompactedError{Requested: after, Oldest: st.history.oldest}
	case after > st.current:
		return nil, &FutureError{Requested: after, Current: st.current}
	}
	if !strings.HasSuffix(string(prefix), "/") {
		needs = nil // one key is as little as can be asked for
	}
	return st.watch(prefix, after, needs), nil
}

// watch begins a watch that is possible. The lock is held.
func (s *state) watch(prefix object.Key, after object.Revision, needs []Requirement) *Watch {
	t := s.history.subscribe(prefix, needs)
	w := &Watch{state: s, topic: t, revision: after, resource: s.history.feed(levels(prefix)[0])}
	if t.feed == w.resource {
		w.next = place(t.feed, after)
		return w
	}
	w.next = t.feed.end()
	w.past, w.present = place(w.resource, after), w.resource.end()
	return w
}

// Stop ends the watch; nothing else may be called after it. Who waits for Changed is not woken.
func (w *Watch) Stop() {
	if w.stopped.Swap(true) {
		return
	}
	w.state.lock.Lock()
	defer w.state.lock.Unlock()
	w.state.history.unsubscribe(w.topic)
}

// Changed returns a channel that is closed when Take may have something, or an error.
func (w *Watch) Changed() <-chan struct{} {
	defer w.state.lock.read().RUnlock()
	if w.state.closed != nil || w.past < w.present || w.next < w.topic.feed.end() {
		return w.state.ready
	}
	return w.topic.wake.wait()
}

// Revision is up to where everything was taken, and where another watch may go on. It moves with commits that do not
// concern the watch too, whenever Take finds nothing more.
func (w *Watch) Revision() object.Revision { return w.revision }

// scanned is how many events Take looks at before it lets a commit in.
const scanned = 1024

// Take returns the next events in order, nil when there are none now. It never waits. It returns about limit: the events
// of one commit are never parted, however many they are. ErrSlow when events were missed, ErrClosed after Close; an error
// is final.
func (w *Watch) Take(limit int) (events []*object.Event, err error) {
	for more := true; more; {
		if events, more, err = w.scan(events, max(limit, 1)); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// scan appends some of the next events, and says whether it is worth to go on.
func (w *Watch) scan(events []*object.Event, limit int) ([]*object.Event, bool, error) {
	defer w.state.lock.read().RUnlock()
	full := false
	switch feed := w.topic.feed; {
	case w.state.closed != nil:
		return nil, false, w.state.closed
	case w.past < w.present:
		if w.past < w.resource.first {
			return nil, false, ErrSlow
		}
		stop := min(w.present, w.past+scanned)
		events, w.past, full = w.collect(w.resource, w.past, stop, events, limit)
	case w.next < feed.first:
		return nil, false, ErrSlow
	case w.next < feed.end():
		if events == nil {
			events = make([]*object.Event, 0, min(limit, int(feed.end()-w.next)))
		}
		events, w.next, full = w.collect(feed, w.next, min(feed.end(), w.next+scanned), events, limit)
	default:
		w.revision = w.state.current
		return events, false, nil
	}
	if full {
		w.revision = events[len(events)-1].Revision()
	}
	return events, !full, nil
}

// collect appends the events of a feed from a number up to another that concern the watch, until they are enough, and
// returns the number of the first that is left.
func (w *Watch) collect(f *feed, n, stop uint64, events []*object.Event, limit int) ([]*object.Event, uint64, bool) {
	for ; n < stop; n++ {
		e := *f.at(n)
		if f != w.topic.feed && !w.topic.concerns(e) {
			continue
		}
		if have := len(events); have >= limit && events[have-1].Revision() != e.Revision() {
			return events, n, true
		}
		events = append(events, e)
	}
	return events, n, false
}
