package robustness

// eventID identifies an event: a watch receives at most one per revision and key.
type eventID struct {
	revision uint64
	key      string
}

// watch checks the responses of one watch, first for consistency with each other, then against the commits.
func (c *checker) watch(w *Watch) {
	seen := c.sequence(w)
	reached := c.bookmarks(w)
	if w.Whole {
		c.atomic(w)
	}
	want := c.wanted(w)
	for _, e := range want {
		if _, ok := seen[eventID{e.Revision, e.Key}]; !ok && e.Revision <= reached.any {
			c.missing(w, e, e == want[0], reached)
		}
	}
	c.compare(w, seen, want)
}

// sequence checks the order of the events and returns them by revision and key.
func (c *checker) sequence(w *Watch) map[eventID]Event {
	seen := map[eventID]Event{}
	last := w.After
	for _, r := range w.Responses {
		for _, e := range r.Events {
			at := eventID{e.Revision, e.Key}
			_, twice := seen[at]
			switch {
			case twice:
				c.broken(Unique, "the watch of %v saw %s at %d twice", w.Where, e.Key, e.Revision)
				continue
			case e.Revision < last:
				c.broken(Ordered, "the watch of %v saw %s at %d after revision %d", w.Where, e.Key, e.Revision, last)
			case e.Revision == w.After:
				c.broken(Resumable, "the watch of %v after %d began with %s at that revision", w.Where, w.After, e.Key)
			}
			last = max(last, e.Revision)
			seen[at] = e
		}
	}
	return seen
}

// reach is the revision up to which a watch is complete: by its last event, and by its last event or
// bookmark.
type reach struct{ event, any uint64 }

// bookmarks checks that no event arrives after a bookmark that covers it, and that bookmarks neither
// decrease nor exceed the newest commit.
func (c *checker) bookmarks(w *Watch) reach {
	reached := reach{w.After, w.After}
	bookmark := w.After
	for _, r := range w.Responses {
		for _, e := range r.Events {
			if e.Revision <= bookmark && bookmark > w.After {
				c.broken(Bookmarkable, "the watch of %v saw %s at %d after a bookmark at %d", w.Where, e.Key,
					e.Revision, bookmark)
			}
			reached.event = max(reached.event, e.Revision)
		}
		if r.Bookmark != 0 {
			if r.Bookmark < max(bookmark, reached.event) {
				c.broken(Bookmarkable, "the watch of %v was at %d, then at %d", w.Where, max(bookmark, reached.event),
					r.Bookmark)
			}
			bookmark = r.Bookmark
		}
	}
	if newest := c.newest(); bookmark > newest && !c.history.Others {
		c.broken(Bookmarkable, "the watch of %v is at %d, and the newest commit is %d", w.Where, bookmark, newest)
	}
	reached.any = max(reached.event, bookmark)
	return reached
}

func (c *checker) newest() uint64 {
	if len(c.commits) == 0 {
		return c.history.Base
	}
	return c.commits[len(c.commits)-1].revision
}

// atomic checks that no commit has events in two responses.
func (c *checker) atomic(w *Watch) {
	in := map[uint64]int{}
	for i, r := range w.Responses {
		for _, e := range r.Events {
			if first, ok := in[e.Revision]; ok && first != i {
				c.broken(Atomic, "the watch of %v saw revision %d in two responses", w.Where, e.Revision)
			}
			in[e.Revision] = i
		}
	}
}

// wanted returns the events that a watch must receive, in order.
func (c *checker) wanted(w *Watch) []Event {
	var want []Event
	for _, made := range c.commits {
		if made.revision <= w.After {
			continue
		}
		for _, change := range made.write.Changes {
			t, changed := made.changes[change.Key]
			if e, ok := t.event(w.Where, change.Key, made.revision); ok && changed {
				want = append(want, e)
			}
		}
	}
	return want
}

// event returns the event of a transition for a client that selects states by where; false if it receives
// none.
func (t transition) event(where Where, key string, revision uint64) (Event, bool) {
	before, after := where.holds(key, t.before), where.holds(key, t.after)
	e := Event{Key: key, Revision: revision, Previous: t.before}
	switch {
	case before && after:
		e.Type, e.Value = "MODIFIED", t.after.Value
	case after:
		e.Type, e.Value = "ADDED", t.after.Value
	case before:
		e.Type, e.Value = "DELETED", t.before.Value
	default:
		return Event{}, false
	}
	return e, true
}

// missing reports an event that a watch skipped.
func (c *checker) missing(w *Watch, e Event, first bool, reached reach) {
	switch {
	case e.Revision > reached.event:
		c.broken(Bookmarkable, "the watch of %v is at %d without %s at %d", w.Where, reached.any, e.Key, e.Revision)
	case first:
		c.broken(Resumable, "the watch of %v after %d does not begin with %s at %d", w.Where, w.After, e.Key,
			e.Revision)
	default:
		c.broken(Reliable, "the watch of %v went on to %d without %s at %d", w.Where, reached.event, e.Key, e.Revision)
	}
}

// compare checks the type, value and previous state of each event.
func (c *checker) compare(w *Watch, seen map[eventID]Event, want []Event) {
	for _, e := range want {
		at := eventID{e.Revision, e.Key}
		got, ok := seen[at]
		if !ok {
			continue
		}
		delete(seen, at)
		if got.Type != e.Type {
			c.broken(IsCreate, "the watch of %v saw %s at %d as %s, not %s", w.Where, e.Key, e.Revision, got.Type,
				e.Type)
		}
		if got.Value != e.Value {
			c.broken(Written, "the watch of %v saw %s at %d as %q, not %q", w.Where, e.Key, e.Revision, got.Value,
				e.Value)
		}
		if w.Previous && !same(got.Previous, e.Previous) {
			c.broken(PreviousValue, "the watch of %v saw %s at %d after %v, not %v", w.Where, e.Key, e.Revision,
				got.Previous, e.Previous)
		}
	}
	for at, e := range seen {
		if c.changed(at) {
			c.broken(Filtered, "the watch of %v saw %s at %d, %q, which it did not ask for", w.Where, e.Key, e.Revision,
				e.Value)
		} else {
			c.broken(Written, "the watch of %v saw %s at %d, %q, which nobody wrote", w.Where, e.Key, e.Revision,
				e.Value)
		}
	}
}

func same(a, b *State) bool { return a == b || a != nil && b != nil && *a == *b }

func (c *checker) changed(at eventID) bool {
	for _, made := range c.commits {
		if _, ok := made.changes[at.key]; ok && made.revision == at.revision {
			return true
		}
	}
	return false
}
