package workqueue

import (
	"slices"
	"sync/atomic"
)

// batch is items that were taken off the lines together, for the calls of Get to come: each takes one without the lock. There is
// one only while far more items wait, and workers get into each other's way. It is given back when what comes in should go before
// it, or is in it, so that nobody can tell that it was there.
type batch[T comparable] struct {
	items    [batchSize]T
	taken    atomic.Int32
	priority Priority // of all
}

// A batch is made of so many items, when so many wait.
const (
	batchSize = 16
	batchFrom = 8 * batchSize
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

// mustYield says whether an item that is added has to be given back first, or goes before what is left.
func (b *batch[T]) mustYield(item T, priority Priority) bool {
	return b.left() > 0 && (priority > b.priority || slices.Contains(b.items[:], item))
}

// takeAhead takes a batch of items off the only line where any wait; several lines have their shares to be kept. A queue that is
// measured has no batches: it tells how long each item is worked on.
func (q *Queue[T]) takeAhead() {
	if q.measured != nil || q.waiting.count < batchFrom || !q.waiting.alike() {
		return
	}
	b := &batch[T]{}
	for i := range b.items {
		e := q.next()
		b.items[i], b.priority = e.item, e.priority
	}
	q.ahead.Store(b)
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
