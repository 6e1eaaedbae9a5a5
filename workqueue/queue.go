// Package workqueue provides the queue between sources of changes and the workers that reconcile them. Its items are
// keys, not events: an item that is added several times before a worker takes it is processed once, and an item that is
// added while it is processed is processed once more afterwards, never by two workers at a time. Items of equal
// priority are dequeued in the order in which they were first added; lower priorities wait but are not starved.
//
// The queue is not suitable for data that must not be merged: a worker reads the current state of its item. It does not
// depend on Kubernetes' objects or API. Package controller uses it like this:
//
//	item, ok := q.Get(ctx) // blocks
//	defer q.Done(item)
//	if err := work(item); err != nil {
//		q.AddRateLimited(item)
//		return
//	}
//	q.Forget(item)
package workqueue

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Queue is a queue of distinct items with priorities, delays and rate limits. It has no goroutine: delays use a heap
// and one timer, which ShutDown stops. Its memory grows and shrinks with its contents. All methods except Measure are
// safe for concurrent use.
//
// Each priority has its own line, a FIFO. An item is waiting in a line, being processed by a worker, or being processed
// and dirty: added again since Get returned it. Done moves a dirty item to the end of its line.
type Queue[T comparable] struct {
	limiter Limiter[T]
	seed    maphash.Seed

	intake intake[T]
	ahead  atomic.Pointer[batch[T]] // replaced under the lock once all its items were taken
	asleep atomic.Bool              // calls of Get wait; written under the lock
	_      cacheLine

	mu       sync.Mutex
	entries  table[T]
	waiting  lines[T]
	getters  getters
	drained  chan struct{} // closed when the queue is empty and idle; nil if nothing waits for that
	delayed  delays[T]
	shutDown bool
	measured *measured // nil if the queue is not measured
}

// New returns a queue that uses limiter in AddRateLimited; nil means DefaultLimiter. The queue owns the
// limiter.
func New[T comparable](limiter Limiter[T]) *Queue[T] {
	if limiter == nil {
		limiter = DefaultLimiter[T]()
	}
	q := &Queue[T]{limiter: limiter, seed: maphash.MakeSeed()}
	q.waiting.table = &q.entries
	q.delayed.release = q.release
	return q
}

// Add enqueues an item with priority Normal. It does not cancel an AddAfter of the item. After ShutDown it does
// nothing.
func (q *Queue[T]) Add(item T) { q.AddWithPriority(item, Normal) }

// AddWithPriority is like Add with the given priority, which it limits to the range from Low to High. An item that
// already waits moves to the end of the line of a higher priority, never to a lower one.
func (q *Queue[T]) AddWithPriority(item T, priority Priority) {
	hash := q.hash(item)
	if q.tryLock() {
		q.add(item, hash, priority)
		q.unlock()
		return
	}
	q.deferCall(deferredCall[T]{item: item, hash: hash, priority: priority})
}

// add implements AddWithPriority. The caller holds the lock.
func (q *Queue[T]) add(item T, hash uint32, priority Priority) {
	if q.shutDown {
		return
	}
	priority = min(max(priority, Low), High)
	p, e := q.entries.find(item, hash)
	switch b := q.ahead.Load(); {
	case b.left() > 0 && priority > b.priority:
		q.returnBatch()
	case e != nil && b.holds(e):
		return
	}
	if e == nil {
		p, e = q.entries.insert(item, hash)
	}
	switch {
	case !e.dirty:
		e.dirty, e.priority = true, priority
		q.measured.add(&e.added)
		if !e.processing {
			q.offer(p, e)
		}
	case priority > e.priority && e.processing:
		e.priority = priority
	case priority > e.priority:
		q.waiting.remove(e)
		e.priority = priority
		q.waiting.push(p, e)
	}
}

// offer appends an entry to its line and wakes a waiting Get.
func (q *Queue[T]) offer(p position, e *entry[T]) {
	q.waiting.push(p, e)
	q.getters.wakeOne()
}

// hash returns the hash of an item for the table. It is computed without the lock.
func (q *Queue[T]) hash(item T) uint32 { return uint32(maphash.Comparable(q.seed, item)) }

// AddAfter adds the item after a delay, or at once if the delay is not positive. If the item is already delayed, the
// earlier time wins. An item that is being processed keeps its priority; any other gets Normal. After ShutDown it does
// nothing.
func (q *Queue[T]) AddAfter(item T, delay time.Duration) {
	hash := q.hash(item)
	q.lock()
	defer q.unlock()
	priority := Normal
	if _, e := q.entries.find(item, hash); e != nil && e.processing {
		priority = e.priority
	}
	if delay <= 0 {
		q.add(item, hash, priority)
		return
	}
	if !q.shutDown && q.delayed.put(item, time.Now().Add(delay), priority) {
		q.delayed.schedule()
	}
}

// AddRateLimited adds the item after the delay that the limiter returns. The caller must call Forget once the item
// has been processed successfully.
func (q *Queue[T]) AddRateLimited(item T) {
	q.measured.retry()
	q.AddAfter(item, q.limiter.When(item))
}

// Forget resets the limiter's count of the item's retries. It does not remove the item from the queue.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns the limiter's count of the item's retries since the last Forget.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Len returns the number of waiting items. Items that are being processed or are delayed do not count.
func (q *Queue[T]) Len() int {
	q.lock()
	defer q.unlock()
	return q.waiting.count + q.ahead.Load().left()
}

// Get waits for the next item and dequeues it. The caller must call Done with the item after processing it. ok is false
// if ctx has ended, or if the queue was shut down and no item waits.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	if ctx.Err() != nil {
		return item, false
	}
	if !q.asleep.Load() {
		if item, ok = q.ahead.Load().take(); ok {
			return item, true
		}
	}
	contended := !q.tryLock()
	if contended {
		q.lock()
	}
	defer q.unlock()
	for {
		if item, ok = q.ahead.Load().take(); ok {
			q.wakeNext()
			return item, true
		}
		q.ahead.Store(nil) // let its items be garbage-collected
		if q.waiting.count > 0 {
			item = q.next().item
			if contended {
				q.dequeueBatch()
			}
			q.wakeNext()
			return item, true
		}
		if q.shutDown {
			return item, false
		}
		q.await(ctx)
		if ctx.Err() != nil {
			q.wakeNext() // another waiter must receive the wakeup of this one
			return item, false
		}
	}
}

// next dequeues the next entry.
func (q *Queue[T]) next() *entry[T] {
	_, e := q.waiting.pop()
	e.dirty, e.processing = false, true
	q.measured.dequeued(e.added, &e.started)
	return e
}

// wakeNext wakes a waiting Get if items are left.
func (q *Queue[T]) wakeNext() {
	if q.waiting.count > 0 || q.ahead.Load().left() > 0 {
		q.getters.wakeOne()
	}
	if asleep := len(q.getters.waiting) > 0; asleep != q.asleep.Load() { // a write would be more expensive
		q.asleep.Store(asleep)
	}
}

// Done marks an item from Get as processed. If the item was added meanwhile, it waits again.
func (q *Queue[T]) Done(item T) {
	hash := q.hash(item)
	if q.tryLock() {
		q.done(item, hash)
		q.unlock()
		return
	}
	q.deferCall(deferredCall[T]{item: item, hash: hash, done: true})
}

// done implements Done. The caller holds the lock.
func (q *Queue[T]) done(item T, hash uint32) {
	p, e := q.entries.find(item, hash)
	if e == nil || !e.processing {
		return
	}
	e.processing = false
	q.measured.done(e.started)
	if e.dirty {
		q.offer(p, e)
		return
	}
	q.entries.remove(p, hash)
	if q.drained != nil && q.entries.count == 0 {
		close(q.drained)
		q.drained = nil
	}
}

// ShutDown drops the delayed items and makes the methods that add items do nothing. Get returns false once no item
// waits. ShutDown does not wait for workers.
func (q *Queue[T]) ShutDown() {
	q.lock()
	defer q.unlock()
	q.stop()
}

// ShutDownWithDrain calls ShutDown and waits until Done was called for all waiting items and those being processed;
// workers must continue to call Get and Done. If ctx ends first, it returns the error of ctx.
func (q *Queue[T]) ShutDownWithDrain(ctx context.Context) error {
	q.lock()
	q.stop()
	if q.entries.count == 0 {
		q.unlock()
		return nil
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	q.unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Queue[T]) ShuttingDown() bool {
	q.lock()
	defer q.unlock()
	return q.shutDown
}

func (q *Queue[T]) stop() {
	q.shutDown = true
	q.delayed.stop()
	q.getters.wakeAll()
}
