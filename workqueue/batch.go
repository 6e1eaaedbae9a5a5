package workqueue

import (
	"math"
	"slices"
	"sync/atomic"
)

// batch is items that were taken off the lines together, for the calls of Get to come: each takes one without the lock. There is
// one only while far more items wait, and workers get into each other's way. It is given back when what comes in should go before
// it, so that nobody can tell that it was there.
type batch[T comparable] struct {
	items    [batchSize]T
	taken    atomic.Int32
	priority Priority // of all
	first    uint32   // the turn of the first item; the next one has the next
}

// A batch is made of so many items, when so many wait. With fewer, workers sleep more for the lock than they work.
const (
	batchSize = 256
	batchFrom = 4 * batchSize
)

// take is the next item of the batch, if there is one.
func (b *batch[T]) take() (item T, ok bool) {
	if b == nil || b.taken.Load() >= batchSize {
		return item, false
	}
	if n := b.taken.Add(1); n <= batchSize {
		return b.items[n-1], true
	}
	return item, false
}

// left is how many items nobody has taken.
func (b *batch[T]) left() int {
	if b == nil {
		return 0
	}
	return max(batchSize-int(b.taken.Load()), 0)
}

// holds says whether nobody has taken an entry's item yet: whoever does will see all that was done before it was added again.
// For that it must be Add that reads how many are taken: Load would not be before their Add.
func (b *batch[T]) holds(e *entry[T]) bool {
	return b != nil && e.turn-b.first < batchSize && int32(e.turn-b.first) >= b.taken.Add(0)
}

// takeAhead takes a batch of items off the only line where any wait; several lines have their shares to be kept. A queue that is
// measured has no batches: it tells how long each item is worked on.
func (q *Queue[T]) takeAhead() {
	if q.measured != nil || q.waiting.count < batchFrom || !q.waiting.alike() {
		return
	}
	b := &batch[T]{first: q.turns(batchSize)}
	for i := range b.items {
		e := q.next()
		b.items[i], b.priority, e.turn = e.item, e.priority, b.first+uint32(i)
	}
	q.ahead.Store(b)
}

// turns is the first of n turns that no entry has had. All have been taken by their workers when their numbers begin again.
func (q *Queue[T]) turns(n uint32) (first uint32) {
	if q.turn > math.MaxUint32-n {
		q.turn = 0
		for e := range q.entries.all() {
			e.turn = 0
		}
	}
	first = q.turn + 1
	q.turn += n
	return first
}

// giveBack puts what nobody has taken of the batch to the front of the lines again.
func (q *Queue[T]) giveBack() {
	b := q.ahead.Load()
	first := min(int(b.taken.Add(batchSize))-batchSize, batchSize)
	for _, item := range slices.Backward(b.items[first:]) {
		p, e := q.entries.find(item, q.hash(item))
		if e == nil { // one Done too many has ended it
			continue
		}
		e.processing, e.dirty = false, true
		q.waiting.pushFront(p, e)
	}
	q.ahead.Store(nil)
	q.wakeNext()
}
