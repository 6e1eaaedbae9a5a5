// Package workqueue is the queue between what changed and who reconciles it. It holds keys, not events: a key that is
// added many times before a worker takes it is worked on once, and one that is added while it is worked on is worked on
// once more afterwards, never by two workers at a time. Keys of one priority come out in the order in which they first
// went in; a lower priority waits, but has a share of its own.
//
// It is not for data that must all be seen: what a key means is read when it is worked on. The controllers' reconcile
// loop is its caller; it knows nothing of objects or of the API.
//
//	item, ok := q.Get(ctx)      // blocks; ok is false when the queue is shut down and empty, or ctx has ended
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

// Queue is a queue of keys with priorities, delays and rate limits. It owns no goroutine: delays are one heap and one
// timer, which ShutDown stops. Its memory follows what it holds, up and down. All methods are safe for concurrent use.
//
// A key is in one of three states at most: waiting in line (and dirty), being processed, or being processed and dirty
// again. Done moves the last kind to the end of its line.
type Queue[T comparable] struct {
	limiter Limiter[T]
	seed    maphash.Seed

	intake intake[T]
	ahead  atomic.Pointer[batch[T]] // is replaced under the lock, when it is used up
	asleep atomic.Bool              // some calls of Get wait; is written under the lock
	_      cacheLine

	mu       sync.Mutex
	entries  table[T]
	waiting  lines[T]
	getters  getters
	drained  chan struct{} // closed when nothing waits and nothing is processed; nil while nobody wants to know
	delayed  delays[T]
	turn     uint32 // the last that an entry was given
	shutDown bool
	measured *measured // nil unless somebody wants to know
}

// New makes a queue whose AddRateLimited asks limiter; nil means DefaultLimiter. The limiter belongs to the queue.
func New[T comparable](limiter Limiter[T]) *Queue[T] {
	if limiter == nil {
		limiter = DefaultLimiter[T]()
	}
	q := &Queue[T]{limiter: limiter, seed: maphash.MakeSeed()}
	q.waiting.table = &q.entries
	return q
}

// Add marks an item as needing work now. After ShutDown it does nothing.
func (q *Queue[T]) Add(item T) { q.AddWithPriority(item, Normal) }

// AddWithPriority is Add with another priority than Normal. An item that waits already moves to the end of the line of
// the higher priority, never to a lower one.
func (q *Queue[T]) AddWithPriority(item T, priority Priority) {
	hash := q.hash(item)
	if q.tryLock() {
		q.add(item, hash, priority)
		q.unlock()
		return
	}
	q.leave(ask[T]{item: item, hash: hash, priority: priority})
}

// add is AddWithPriority under the lock.
func (q *Queue[T]) add(item T, hash uint32, priority Priority) {
	if q.shutDown {
		return
	}
	priority = min(max(priority, Low), High)
	p, e := q.entries.find(item, hash)
	switch b := q.ahead.Load(); {
	case b.left() > 0 && priority > b.priority:
		q.giveBack()
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

// offer puts an entry in line, and wakes somebody who waits for one.
func (q *Queue[T]) offer(p place, e *entry[T]) {
	q.waiting.push(p, e)
	q.getters.wakeOne()
}

// hash is what the table finds an item by. It is made without the lock.
func (q *Queue[T]) hash(item T) uint32 { return uint32(maphash.Comparable(q.seed, item)) }

// AddAfter adds the item when the delay has passed; at once if it is not positive. An item that already waits keeps the
// earlier of the two times. One that is being processed comes again with the priority that it had: what nobody waited for
// is not waited for because it failed.
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
		q.schedule()
	}
}

// AddRateLimited adds the item when the limiter allows it. The caller must Forget it when its work has succeeded.
func (q *Queue[T]) AddRateLimited(item T) {
	q.measured.retry()
	q.AddAfter(item, q.limiter.When(item))
}

// Forget ends the item's history of failures. It does not take it from the queue.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues is how often the item was added rate-limited since it was last forgotten.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Len is how many items wait in line to be taken: without those that are processed or delayed.
func (q *Queue[T]) Len() int {
	q.lock()
	defer q.unlock()
	return q.waiting.count + q.ahead.Load().left()
}

// Get waits for the next item. The caller must call Done with it. ok is false when there will be no more, because the
// queue was shut down and what it held has been taken, or when ctx has ended.
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
		q.ahead.Store(nil) // what its items point to must not outlive their work
		if q.waiting.count > 0 {
			item = q.next().item
			if contended {
				q.takeAhead()
			}
			q.wakeNext()
			return item, true
		}
		if q.shutDown {
			return item, false
		}
		q.await(ctx)
		if ctx.Err() != nil {
			q.wakeNext() // what woke this one is for another
			return item, false
		}
	}
}

// next takes the next entry off the lines.
func (q *Queue[T]) next() *entry[T] {
	_, e := q.waiting.pop()
	e.dirty, e.processing = false, true
	q.measured.take(e.added, &e.begun)
	return e
}

// wakeNext wakes another who waits, if there is something for them.
func (q *Queue[T]) wakeNext() {
	if q.waiting.count > 0 || q.ahead.Load().left() > 0 {
		q.getters.wakeOne()
	}
	if asleep := len(q.getters.waiting) > 0; asleep != q.asleep.Load() { // a write is dearer
		q.asleep.Store(asleep)
	}
}

// Done says that the work on an item that Get gave has ended. If it was added meanwhile it goes back into line.
func (q *Queue[T]) Done(item T) {
	hash := q.hash(item)
	if q.tryLock() {
		q.done(item, hash)
		q.unlock()
		return
	}
	q.leave(ask[T]{item: item, hash: hash, done: true})
}

// done is Done under the lock.
func (q *Queue[T]) done(item T, hash uint32) {
	p, e := q.entries.find(item, hash)
	if e == nil || !e.processing {
		return
	}
	e.processing = false
	q.measured.done(e.begun)
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

// ShutDown refuses new items, drops the delayed ones, and lets Get return false once the waiting ones are taken.
func (q *Queue[T]) ShutDown() {
	q.lock()
	defer q.unlock()
	q.stop()
}

// ShutDownWithDrain shuts down and waits until every item that was waiting or being processed is done, or ctx ends,
// whose error it then returns. Somebody must go on calling Get and Done meanwhile.
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

// ShuttingDown says whether ShutDown was called.
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
