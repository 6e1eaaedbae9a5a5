package workqueue

import (
	"slices"
	"sync/atomic"
)

// batch holds items that were dequeued together, so that later calls of Get can each take one without the lock. The
// queue makes one only while many items wait and workers contend for the lock. It returns the rest of the batch to the
// lines if an item of a higher priority is added, so batches do not affect the order.
type batch[T comparable] struct {
	items    [batchSize]T
	taken    atomic.Int32
	priority Priority // of all items
	first    uint32   // the turn of the first item; turns are consecutive
}

// A batch has batchSize items. It is made only when at least batchFrom items wait: with fewer, making batches keeps the
// lock from the workers for longer than it saves.
const (
	batchSize = 256
	batchFrom = 4 * batchSize
)

// take returns the next item of the batch.
func (b *batch[T]) take() (item T, ok bool) {
	if b == nil || b.taken.Load() >= batchSize {
		return item, false
	}
	if n := b.taken.Add(1); n <= batchSize {
		return b.items[n-1], true
	}
	return item, false
}

// left returns the number of items not taken.
func (b *batch[T]) left() int {
	if b == nil {
		return 0
	}
	return max(batchSize-int(b.taken.Load()), 0)
}

// holds reports whether an entry's item is in the batch and was not taken yet. Adding such an item needs no work: the
// worker that takes it will see all changes made before the add. holds must read the counter by Add, because a Load
// could be ordered before a concurrent Add.
func (b *batch[T]) holds(e *entry[T]) bool {
	return b != nil && e.turn-b.first < batchSize && int32(e.turn-b.first) >= b.taken.Add(0)
}

// dequeueBatch dequeues a batch if enough items wait and all have the same priority; with several priorities, a batch
// would take the shares of the lower ones. A measured queue has no batches, because it records when each item was
// dequeued.
func (q *Queue[T]) dequeueBatch() {
	if q.measured != nil || q.waiting.count < batchFrom || !q.waiting.onePriority() {
		return
	}
	b := &batch[T]{first: q.entries.turns(batchSize)}
	for i := range b.items {
		e := q.next()
		b.items[i], b.priority, e.turn = e.item, e.priority, b.first+uint32(i)
	}
	q.ahead.Store(b)
}

// returnBatch returns the items of the batch that no worker has dequeued to the front of their line.
func (q *Queue[T]) returnBatch() {
	b := q.ahead.Load()
	first := min(int(b.taken.Add(batchSize))-batchSize, batchSize)
	for _, item := range slices.Backward(b.items[first:]) {
		p, e := q.entries.find(item, q.hash(item))
		if e == nil { // removed by a surplus Done
			continue
		}
		e.processing, e.dirty = false, true
		q.waiting.pushFront(p, e)
	}
	q.ahead.Store(nil)
	q.wakeNext()
}
