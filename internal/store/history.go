package store

import (
	"fmt"
	"sort"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// history is the changes since some revision, as far back as its bounds of age and bytes allow: what a watcher resumes
// from, and what brings an older state back. The state's lock guards it.
type history struct {
	age    time.Duration
	budget int

	// records are the changes of all resources; feeds are the same events by resource, as watchers read them. Both are by
	// number, and audiences are who watches, by prefix.
	records   queue[record]
	feeds     map[object.Key]*feed
	audiences map[object.Key]*audience
	found     []*topic // room for concerned
	// past is how older states are found, by key.
	past *past
	// indexed is the number of the first record that past does not have yet.
	indexed uint64
	// bytes is what the history alone keeps alive.
	bytes int
	// oldest is the revision before the first record: the first that can be asked for.
	oldest object.Revision

	// The records from number warm on keep the frames that watches made of them; warmBytes is their size.
	warm      uint64
	warmBytes int
}

func newHistory(age time.Duration, budget int) history {
	return history{
		age: age, budget: budget,
		past: newPast(), feeds: map[object.Key]*feed{}, audiences: map[object.Key]*audience{},
	}
}

// record is an event and when it was made, in nanoseconds since the store's start.
type record struct {
	event *object.Event
	at    time.Duration
}

// feed is the events of one resource.
type feed = queue[*object.Event]

const (
	// recordBytes is an event with its places in the history.
	recordBytes = 96
	// frameBudget bounds the frames of events, by the bytes of the objects that they show. Watchers that keep up read an
	// event together and share its frames; one that resumes further back makes its own.
	frameBudget = 8 << 20
)

// add appends an event, and adds to waiting who is to be woken.
func (h *history) add(e *object.Event, now time.Duration, waiting []chan struct{}) []chan struct{} {
	h.records.push(record{e, now})
	h.bytes += held(e)
	h.warmBytes += e.Object.Size()
	prefixes := levels(e.Key())
	h.feed(prefixes[0]).push(e)
	if len(h.audiences) == 0 {
		return waiting
	}
	for _, t := range h.concerned(e, prefixes) {
		t.add(e)
		waiting = t.wake.take(waiting)
	}
	return waiting
}

// recall appends a change from before the store was opened. Its age counts by the clock, and where that was set back since, it
// is as good as new.
func (h *history) recall(e *object.Event, at time.Time) error {
	if last := h.newest(); last != 0 && e.Revision() != last && e.Revision() != last+1 {
		return fmt.Errorf("the log's history goes from revision %d to %d", last, e.Revision())
	}
	h.add(e, min(0, -time.Since(at)), nil)
	return nil
}

// newest is the revision of the last record, 0 if there is none.
func (h *history) newest() object.Revision {
	if h.records.len() == 0 {
		return 0
	}
	return h.records.at(h.records.end() - 1).event.Revision()
}

// resume says at which revision the log stands whose changes were recalled.
func (h *history) resume(revision object.Revision) error {
	h.oldest = revision
	if h.records.len() == 0 {
		return nil
	}
	if last := h.newest(); last != revision {
		return fmt.Errorf("the log is at revision %d, but its history ends at %d", revision, last)
	}
	h.oldest = h.records.at(h.records.first).event.Revision() - 1
	h.tidy(0)
	return nil
}

// feed is the feed of a resource's prefix, made when it is first needed.
func (h *history) feed(resource object.Key) *feed {
	f := h.feeds[resource]
	if f == nil {
		f = new(feed)
		h.feeds[resource] = f
	}
	return f
}

// held is what an event alone keeps alive: the state that it replaced, and of a deletion the last state twice, since it
// is shown at a revision of its own.
func held(e *object.Event) int {
	bytes := recordBytes
	if e.Previous != nil {
		bytes += e.Previous.Size()
	}
	if e.Deleted {
		bytes += e.Object.Size()
	}
	return bytes
}

// tidy files what is new by key, and drops what is out of bounds now, by whole commits. A commit that is over the budget alone
// stays until the next. It comes before whatever asks how far back the history goes, or for an older state.
func (h *history) tidy(now time.Duration) {
	for ; h.indexed < h.records.end(); h.indexed++ {
		h.past.add(h.records.at(h.indexed).event)
	}
	for h.records.len() > 0 {
		first := h.records.at(h.records.first)
		tooOld := now-first.at > h.age
		tooMuch := h.bytes > h.budget && first.event.Revision() != h.newest()
		if !tooOld && !tooMuch {
			break
		}
		h.drop(first.event.Revision())
	}
	h.cool()
}

// drop drops the records of the first commit.
func (h *history) drop(commit object.Revision) {
	for h.records.len() > 0 && h.records.at(h.records.first).event.Revision() == commit {
		if h.warm == h.records.first {
			h.coolOne()
		}
		h.forget(h.records.pop().event)
	}
	h.oldest = commit
}

// forget takes a dropped event out of the feeds that it is in.
func (h *history) forget(e *object.Event) {
	h.bytes -= held(e)
	h.past.drop(e)
	prefixes := levels(e.Key())
	h.feeds[prefixes[0]].pop()
	if len(h.audiences) == 0 {
		return
	}
	for _, t := range h.concerned(e, prefixes) {
		t.forget(e)
	}
}

// cool drops the frames of old events until the budget holds.
func (h *history) cool() {
	for h.warmBytes > frameBudget && h.warm < h.records.end() {
		h.coolOne()
	}
}

func (h *history) coolOne() {
	e := h.records.at(h.warm).event
	e.DropFrames()
	h.warmBytes -= e.Object.Size()
	h.warm++
}

// place is the number of the first event of a feed after a revision.
func place(f *feed, after object.Revision) uint64 {
	return f.first + uint64(sort.Search(f.len(), func(i int) bool {
		return (*f.at(f.first + uint64(i))).Revision() > after
	}))
}
