package store

import (
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Watch is a place in the history of a prefix. It has no buffer: the events are those of the history, and a watcher that
// does not keep up loses its place when the history moves on. All methods are for one goroutine, but Stop and Changed
// are for any.
type Watch struct {
	state  *state
	prefix object.Key
	// whole says that the prefix is that of a resource: everything in its feed.
	whole bool
	topic *topic

	// next is the number of the first event of the feed that was not looked at.
	next     atomic.Uint64
	revision object.Revision
	stopped  atomic.Bool
}

// Watch begins to watch the changes of a prefix after a revision: a resource or a namespace, which end with a slash, or
// one full key. *CompactedError when the history does not reach back to the revision, *FutureError when the store has
// not reached it: in the life of this store it never named a state. The caller must Stop the watch.
func (s *Store) Watch(prefix object.Key, after object.Revision) (*Watch, error) {
	st := s.state
	st.lock.Lock()
	defer st.lock.Unlock()
	if st.closed != nil {
		return nil, st.closed
	}
	st.trim(time.Since(st.start))
	switch {
	case after < st.history.oldest:
		return nil, &CompactedError{Requested: after, Oldest: st.history.oldest}
	case after > st.current:
		return nil, &FutureError{Requested: after, Current: st.current}
	}
	w := &Watch{state: st, prefix: prefix, topic: st.history.subscribe(prefix), revision: after}
	w.whole = prefix == levels(prefix)[0]
	w.next.Store(place(w.topic.feed, after))
	return w, nil
}

// Stop ends the watch; nothing else may be called after it. Who waits for Changed is not woken.
func (w *Watch) Stop() {
	if w.stopped.Swap(true) {
		return
	}
	w.state.lock.Lock()
	defer w.state.lock.Unlock()
	w.state.history.unsubscribe(w.prefix)
}

// Changed returns a channel that is closed when Take may have something, or an error.
func (w *Watch) Changed() <-chan struct{} {
	defer w.state.lock.read().RUnlock()
	if w.state.closed != nil || w.topic.end > w.next.Load() {
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
	if len(events) == 0 {
		return nil, nil
	}
	return events, nil
}

// scan appends what concerns the watch among the next events, and says whether it is worth to go on.
func (w *Watch) scan(events []*object.Event, limit int) ([]*object.Event, bool, error) {
	defer w.state.lock.read().RUnlock()
	feed := w.topic.feed
	next := max(w.next.Load(), feed.first)
	switch {
	case w.state.closed != nil:
		return nil, false, w.state.closed
	case w.next.Load() < w.topic.dropped:
		return nil, false, ErrSlow
	case next >= w.topic.end:
		w.next.Store(feed.end())
		w.revision = w.state.current
		return events, false, nil
	}
	if events == nil {
		events = make([]*object.Event, 0, min(limit, int(w.topic.end-next)))
	}
	for stop := min(w.topic.end, next+scanned); next < stop; next++ {
		e := *feed.at(next)
		if !w.concerns(e) {
			continue
		}
		if n := len(events); n >= limit && events[n-1].Revision() != e.Revision() {
			w.next.Store(next)
			w.revision = events[n-1].Revision()
			return events, false, nil
		}
		events = append(events, e)
	}
	w.next.Store(next)
	return events, true, nil
}

// concerns says whether an event of the feed is within the prefix.
func (w *Watch) concerns(e *object.Event) bool { return w.whole || covers(w.prefix, e.Key()) }
