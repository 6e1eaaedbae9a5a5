package robustness

import (
	"fmt"
	"maps"
)

// Guarantee names a promise that a store makes.
type Guarantee string

// The guarantees of watches, as etcd's robustness tests name them.
const (
	Filtered      Guarantee = "filtered"       // a watch sends only events that it selects
	Ordered       Guarantee = "ordered"        // events come in the order of their revisions
	Unique        Guarantee = "unique"         // no event comes twice
	Atomic        Guarantee = "atomic"         // the events of one commit arrive together
	Reliable      Guarantee = "reliable"       // no event between two others is missing
	Resumable     Guarantee = "resumable"      // a watch starts with the first event after its revision
	Bookmarkable  Guarantee = "bookmarkable"   // all events up to a bookmark arrive before it
	IsCreate      Guarantee = "is-create"      // an event's type is right: added, modified or deleted
	PreviousValue Guarantee = "previous-value" // an event carries the state before it
)

// The guarantees of writes and reads.
const (
	Serial  Guarantee = "serial"  // writes have one order, by revision, that fits time and preconditions
	Written Guarantee = "written" // every observed value was written by a client whose write was not refused
	Exact   Guarantee = "exact"   // a list returns the whole state of its revision
	Fresh   Guarantee = "fresh"   // a latest list includes everything acknowledged before it
)

// Violation is a guarantee that did not hold.
type Violation struct {
	Guarantee Guarantee
	Detail    string
}

func (v Violation) String() string { return string(v.Guarantee) + ": " + v.Detail }

// Check returns every violation that it finds, and nil for a correct history.
func Check(h History) []Violation {
	c := &checker{history: &h}
	c.replay()
	for i := range h.Watches {
		c.watch(&h.Watches[i])
	}
	for i := range h.Lists {
		c.list(&h.Lists[i])
	}
	return c.violations
}

func (c *checker) broken(g Guarantee, format string, args ...any) {
	c.violations = append(c.violations, Violation{g, fmt.Sprintf(format, args...)})
}

func (c *checker) list(l *List) {
	want := map[string]State{}
	for key, s := range c.stateAt(l.Revision) {
		if l.Where.holds(key, &s) {
			want[key] = s
		}
	}
	if !maps.Equal(l.Items, want) {
		c.broken(Exact, "the list of %v at revision %d has %v, not %v", l.Where, l.Revision, l.Items, want)
	}
	if !l.Latest {
		return
	}
	for _, made := range c.commits {
		if made.write.Outcome == Acknowledged && made.write.Return < l.Call && made.revision > l.Revision {
			c.broken(Fresh, "the list of %v shows revision %d without %d, which was acknowledged before", l.Where,
				l.Revision, made.revision)
		}
	}
}
