package robustness

import (
	"fmt"
	"maps"
)

// Guarantee is the name of what a store promises.
type Guarantee string

// The guarantees of watches, as etcd's robustness tests name them.
const (
	Filtered      Guarantee = "filtered"       // a watch sees what it asked for and nothing else
	Ordered       Guarantee = "ordered"        // events come in the order of their revisions
	Unique        Guarantee = "unique"         // no event comes twice
	Atomic        Guarantee = "atomic"         // the events of one commit come together
	Reliable      Guarantee = "reliable"       // between two events none is missing
	Resumable     Guarantee = "resumable"      // a watch begins with the first event after its revision
	Bookmarkable  Guarantee = "bookmarkable"   // all events up to a bookmark came before it
	IsCreate      Guarantee = "is-create"      // an event says rightly whether the object came to be, changed or went
	PreviousValue Guarantee = "previous-value" // an event shows the state before it
)

// The guarantees of writes and reads.
const (
	Serial  Guarantee = "serial"  // writes have one order, that of their revisions, which time and their expectations agree with
	Written Guarantee = "written" // everything seen is as somebody wrote it whose write was not refused
	Exact   Guarantee = "exact"   // a list is the whole state of its revision
	Fresh   Guarantee = "fresh"   // a latest list has everything that was acknowledged before it
)

// Violation is a guarantee that did not hold.
type Violation struct {
	Guarantee Guarantee
	Detail    string
}

func (v Violation) String() string { return string(v.Guarantee) + ": " + v.Detail }

// Check returns every violation that it finds; nil says that the history is right.
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
			c.broken(Fresh, "the list of %v shows revision %d without %d, which was acknowledged before", l.Where, l.Revision, made.revision)
		}
	}
}
