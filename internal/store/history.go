package store

import (
	"fmt"
	"sort"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// history holds the recent changes, bounded by age and bytes. Watchers resume from it, and older states are
// reconstructed from it. The state's lock protects it.
type history struct {
	// age and budget bound the history: changes that are older, or exceed the bytes, are dropped.
	age    time.Duration
	budget int

	// records holds the changes of all resources; queues holds the same events per resource, for watchers.
	// watchers holds the watchers by prefix.
	records  queue[record]
	queues   map[object.Key]*eventQueue
	watchers map[object.Key]*prefixWatchers
	found    []*topic // reused by matching
	// index finds the state of a key at an older revision.
	index *revisionIndex
	// indexed is the number of the first record that is not yet in index.
	indexed uint64
	// bytes is the memory retained only by the history.
	bytes int
	// oldest is the revision before the first record, which is the first one that Snapshot and Watch accept.
	oldest object.Revision

	// The events of records from number firstFrame on keep the encoded frames that watches made from them;
	// frameBytes is the size of their objects.
	firstFrame uint64
	frameBytes int
}

func newHistory(age time.Duration, budget int) history {
	return history{
		age: age, budget: budget,
		index: newRevisionIndex(), queues: map[object.Key]*eventQueue{}, watchers: map[object.Key]*prefixWatchers{},
	}
}

// record is an event and its time, in nanoseconds since the store's start.
type record struct {
	event *object.Event
	at    time.Duration
}

// eventQueue holds the events of one resource or topic.
type eventQueue = queue[*object.Event]

const (
	// recordBytes is the size of an event and of its entries in the history.
	recordBytes = 96
	// frameBudget bounds the events that keep their frames, by the size of their objects. Watchers that keep up
	// read an event at about the same time and share its frames; a watcher that resumes further back encodes the
	// frames again.
	frameBudget = 8 << 20
)

// add appends an event, and appends the channels of the watchers concerned to waiting, for wake.
func (h *history) add(e *object.Event, now time.Duration, waiting []chan struct{}) []chan struct{} {
	h.records.push(record{e, now})
	h.bytes += retainedBytes(e)
	h.frameBytes += e.Object.Size()
	prefixes := levels(e.Key())
	h.queueOf(prefixes[0]).push(e)
	if len(h.watchers) == 0 {
		return waiting
	}
	for _, t := range h.matching(e, prefixes) {
		t.add(e)
		waiting = t.wake.detach(waiting)
	}
	return waiting
}

// load appends a change that the log stored before this start. Its age is measured by the wall clock; if the clock
// was set back since, the change counts as new.
func (h *history) load(e *object.Event, at time.Time) error {
	if last := h.newest(); last != 0 && e.Revision() != last && e.Revision() != last+1 {
		return fmt.Errorf("the log's history has a gap: revision %d follows %d", e.Revision(), last)
	}
	h.add(e, min(0, -time.Since(at)), nil)
	return nil
}

// newest returns the revision of the last record, 0 if there is none.
func (h *history) newest() object.Revision {
	if h.records.len() == 0 {
		return 0
	}
	return h.records.at(h.records.end() - 1).event.Revision()
}

// finishLoad checks that the loaded changes end at the revision of the log, and sets oldest.
func (h *history) finishLoad(revision object.Revision) error {
	h.oldest = revision
	if h.records.len() == 0 {
		return nil
	}
	if last := h.newest(); last != revision {
		return fmt.Errorf("the log is at revision %d, but its history ends at %d", revision, last)
	}
	h.oldest = h.records.at(h.records.first).event.Revision() - 1
	h.trim(0)
	return nil
}

// queueOf returns the queue of a resource's prefix, creating it if needed.
func (h *history) queueOf(resource object.Key) *eventQueue {
	q := h.queues[resource]
	if q == nil {
		q = new(eventQueue)
		h.queues[resource] = q
	}
	return q
}

// retainedBytes returns the memory that only this event retains: the replaced state, and for a deletion also its
// object, which is a copy of the last state at a new revision.
func retainedBytes(e *object.Event) int {
	bytes := recordBytes
	if e.Previous != nil {
		bytes += e.Previous.Size()
	}
	if e.Deleted {
		bytes += e.Object.Size()
	}
	return bytes
}

// trim adds new events to the index, and drops the oldest commits while the history exceeds its age or budget. A
// commit is dropped whole; one that exceeds the budget alone stays until the next commit. Callers that read oldest
// or an older state must call it first.
func (h *history) trim(now time.Duration) {
	for ; h.indexed < h.records.end(); h.indexed++ {
		h.index.add(h.records.at(h.indexed).event)
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
	h.evictFrames()
}

// drop drops the records of the first commit.
func (h *history) drop(commit object.Revision) {
	for h.records.len() > 0 && h.records.at(h.records.first).event.Revision() == commit {
		if h.firstFrame == h.records.first {
			h.evictFrame()
		}
		h.removeFromQueues(h.records.pop().event)
	}
	h.oldest = commit
}

// removeFromQueues removes a dropped event from the index, the resource's queue and the topics' queues.
func (h *history) removeFromQueues(e *object.Event) {
	h.bytes -= retainedBytes(e)
	h.index.drop(e)
	prefixes := levels(e.Key())
	h.queues[prefixes[0]].pop()
	if len(h.watchers) == 0 {
		return
	}
	for _, t := range h.matching(e, prefixes) {
		t.drop(e)
	}
}

// evictFrames drops the frames of the oldest events until the rest is within frameBudget.
func (h *history) evictFrames() {
	for h.frameBytes > frameBudget && h.firstFrame < h.records.end() {
		h.evictFrame()
	}
}

func (h *history) evictFrame() {
	e := h.records.at(h.firstFrame).event
	e.DropFrames()
	h.frameBytes -= e.Object.Size()
	h.firstFrame++
}

// position returns the number of the first event of a queue after a revision.
func position(q *eventQueue, after object.Revision) uint64 {
	return q.first + uint64(sort.Search(q.len(), func(i int) bool {
		return (*q.at(q.first + uint64(i))).Revision() > after
	}))
}
