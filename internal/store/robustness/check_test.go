package robustness_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/store/robustness"
)

// good generates the history of a correct store: random writes, some with an outcome unknown to the writer,
// lists, and watches of everything, of one key and of some values.
func good(random *rand.Rand) *robustness.History {
	g := &generator{random: random, state: map[string]robustness.State{}, h: &robustness.History{Base: 1000}}
	for range 60 {
		g.write()
		if random.IntN(5) == 0 {
			g.list()
		}
	}
	for _, where := range []robustness.Where{{Prefix: "a/"}, {Prefix: "a/1"}, {Prefix: "a/", Value: "red"},
		{Prefix: "b/"}} {
		g.watch(where, g.h.Base)
		g.watch(where, g.h.Base+uint64(random.IntN(20)))
	}
	return g.h
}

// generator is a minimal correct store that records its history.
type generator struct {
	random *rand.Rand
	h      *robustness.History
	clock  int64
	state  map[string]robustness.State
	events []robustness.Event // all events, with the state before each
}

func (g *generator) now() int64 {
	g.clock++
	return g.clock
}

func (g *generator) write() {
	w := robustness.Write{Call: g.now(), Revision: g.h.Base + 1 + uint64(g.made()), Outcome: robustness.Acknowledged}
	n := len(g.h.Writes)
	for i, key := range g.random.Perm(6)[:1+g.random.IntN(3)] {
		c := robustness.Change{Key: fmt.Sprintf("%c/%d", 'a'+key%2, key/2)}
		if i == 0 || g.random.IntN(3) > 0 { // the first change always changes something
			c.Value = fmt.Sprintf("%s-%d-%d", []string{"red", "blue"}[g.random.IntN(2)], n, i)
		} else {
			c.Deleted = true
		}
		if g.random.IntN(2) == 0 {
			at := g.state[c.Key].Revision
			c.Expect = &at
		}
		w.Changes = append(w.Changes, c)
	}
	if g.random.IntN(8) == 0 {
		w.Outcome = robustness.Refused
	} else {
		g.apply(w)
	}
	w.Return = g.now()
	if w.Outcome == robustness.Acknowledged && g.random.IntN(8) == 0 {
		w.Outcome, w.Revision = robustness.Unknown, 0
	}
	g.h.Writes = append(g.h.Writes, w)
}

// made returns the number of committed writes.
func (g *generator) made() (n int) {
	for _, w := range g.h.Writes {
		if w.Outcome != robustness.Refused {
			n++
		}
	}
	return n
}

func (g *generator) apply(w robustness.Write) {
	for _, c := range w.Changes {
		e := robustness.Event{Type: "ADDED", Key: c.Key, Value: c.Value, Revision: w.Revision}
		if before, ok := g.state[c.Key]; ok {
			e.Type, e.Previous = "MODIFIED", &before
		}
		if c.Deleted {
			if e.Previous == nil {
				continue
			}
			e.Type, e.Value = "DELETED", e.Previous.Value
			delete(g.state, c.Key)
		} else {
			g.state[c.Key] = robustness.State{Value: c.Value, Revision: w.Revision}
		}
		g.events = append(g.events, e)
	}
}

func (g *generator) list() {
	items := maps.Clone(g.state)
	maps.DeleteFunc(items, func(key string, _ robustness.State) bool { return !strings.HasPrefix(key, "a/") })
	g.h.Lists = append(g.h.Lists, robustness.List{
		Where: robustness.Where{Prefix: "a/"}, Call: g.now(), Latest: true, Revision: g.h.Base + uint64(g.made()),
		Items: items,
	})
}

// watch records a watch that sends a few commits per response and an occasional bookmark.
func (g *generator) watch(where robustness.Where, after uint64) {
	w := robustness.Watch{Where: where, After: after, Whole: true, Previous: true}
	var r robustness.Response
	flush := func(bookmark uint64) {
		if r.Bookmark = bookmark; len(r.Events) > 0 || bookmark != 0 {
			w.Responses = append(w.Responses, r)
		}
		r = robustness.Response{}
	}
	last := after
	for _, e := range g.events {
		if e.Revision <= after {
			continue
		}
		if e.Revision != last && g.random.IntN(3) == 0 {
			flush(last * uint64(g.random.IntN(2)))
		}
		last = e.Revision
		if e, ok := narrowed(e, where); ok {
			r.Events = append(r.Events, e)
		}
	}
	flush(last)
	g.h.Watches = append(g.h.Watches, w)
}

// narrowed returns an event as a watch restricted to some keys and values receives it; false if it does not.
func narrowed(e robustness.Event, where robustness.Where) (robustness.Event, bool) {
	if e.Key != where.Prefix && (where.Prefix != e.Key[:2]) {
		return e, false
	}
	before := e.Previous != nil && strings.HasPrefix(e.Previous.Value, where.Value)
	after := e.Type != "DELETED" && strings.HasPrefix(e.Value, where.Value)
	switch {
	case before && after:
		e.Type = "MODIFIED"
	case after:
		e.Type = "ADDED"
	case before:
		e.Type, e.Value = "DELETED", e.Previous.Value
	}
	return e, before || after
}

func TestValidHistoriesPass(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		if broken := robustness.Check(*good(rand.New(rand.NewPCG(seed, 1)))); broken != nil {
			t.Fatalf("seed %d: %v", seed, broken)
		}
	}
}

// faults holds the errors a store could make, each with the guarantee that it breaks. spoil injects the error
// at a random position of a history; false means that the history has no suitable position.
var faults = map[string]struct {
	breaks robustness.Guarantee
	spoil  func(*robustness.History, *rand.Rand) bool
}{
	"an event is lost":                 {robustness.Reliable, loseEvent},
	"the first event is lost":          {robustness.Resumable, loseFirst},
	"the last events are lost":         {robustness.Bookmarkable, loseLast},
	"two responses are swapped":        {robustness.Ordered, swapResponses},
	"an event comes twice":             {robustness.Unique, doubleEvent},
	"a commit is parted":               {robustness.Atomic, partCommit},
	"a bookmark is too high":           {robustness.Bookmarkable, raiseBookmark},
	"a bookmark goes back":             {robustness.Bookmarkable, lowerBookmark},
	"a wrong previous value":           {robustness.PreviousValue, wrongPrevious},
	"no previous value":                {robustness.PreviousValue, noPrevious},
	"an update looks like a creation":  {robustness.IsCreate, wrongType},
	"an event of another key":          {robustness.Filtered, foreignEvent},
	"a value that nobody wrote":        {robustness.Written, inventValue},
	"a revision that nobody made":      {robustness.Written, inventRevision},
	"a refused write is seen":          {robustness.Written, refusedIsSeen},
	"an acknowledged write is not":     {robustness.Exact, loseWrite},
	"a list is stale":                  {robustness.Fresh, staleList},
	"a list misses an object":          {robustness.Exact, shortList},
	"two writes have one revision":     {robustness.Serial, sameRevision},
	"a revision is nobody's":           {robustness.Serial, skipRevision},
	"a later write has a lower number": {robustness.Serial, outOfTime},
	"an expectation did not hold":      {robustness.Serial, wrongExpectation},
}

func TestInvalidHistoriesAreReported(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt := 0
			for seed := range uint64(60) {
				random := rand.New(rand.NewPCG(seed, 2))
				h := good(random)
				if !fault.spoil(h, random) {
					continue
				}
				spoilt++
				broken := robustness.Check(*h)
				if !slices.ContainsFunc(broken, func(v robustness.Violation) bool {
					return v.Guarantee == fault.breaks
				}) {
					t.Fatalf("seed %d: no violation of %s among %v", seed, fault.breaks, broken)
				}
			}
			if spoilt < 20 {
				t.Errorf("only %d of 60 histories had a place for it", spoilt)
			}
		})
	}
}
