// Package workqueue is the queue between what changed and who reconciles it. It holds keys, not events: a key that is
// added many times before a worker takes it is worked on once, and one that is added while it is worked on is worked on
// once more afterwards, never by two workers at a time. Keys come out in the order in which they first went in.
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
	"sync"
	"time"
)

// Queue is a queue of keys with delays and rate limits. It owns no goroutine: delays are one heap and one timer, which
// ShutDown stops. All methods are safe for concurrent use.
//
// A key is in one of three places at most: waiting in order (and dirty), being processed, or being processed and dirty
// again. Done moves the last kind back to the end of the order.
type Queue[T comparable] struct {
	limiter Limiter[T]

	mu    sync.Mutex
	ready sync.Cond // an item, or the end: what Get waits for
	idle  sync.Cond // nothing waits and nothing is processed: what ShutDownWithDrain waits for

	order      []T
	dirty      map[T]struct{}
	processing map[T]struct{}
	delayed    delays[T]
	shutDown   bool
	measured   *measured[T] // nil unless somebody wants to know
}

// New makes a queue whose AddRateLimited asks limiter; nil means DefaultLimiter. The limiter belongs to the queue.
func New[T comparable](limiter Limiter[T]) *Queue[T] {
	if limiter == nil {
		limiter = DefaultLimiter[T]()
	}
	q := &Queue[T]{
		limiter:    limiter,
		dirty:      map[T]struct{}{},
		processing: map[T]struct{}{},
	}
	q.ready.L, q.idle.L = &q.mu, &q.mu
	return q
}

// Add marks an item as needing work now. After ShutDown it does nothing.
func (q *Queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(item)
}

// add is Add under the lock.
func (q *Queue[T]) add(item T) {
	if q.shutDown {
		return
	}
	if _, again := q.dirty[item]; again {
		return
	}
	q.dirty[item] = struct{}{}
	q.measured.add(item)
	if _, busy := q.processing[item]; busy {
		return
	}
	q.order = append(q.order, item)
	q.ready.Signal()
}

// AddAfter adds the item when the delay has passed; at once if it is not positive. An item that already waits keeps the
// earlier of the two times.
func (q *Queue[T]) AddAfter(item T, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delay <= 0 {
		q.add(item)
		return
	}
	if !q.shutDown && q.delayed.put(item, time.Now().Add(delay)) {
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

// Len is how many items wait in order to be taken: without those that are processed or delayed.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}

// Get waits for the next item. The caller must call Done with it. ok is false when there will be no more, because the
// queue was shut down and what it held has been taken, or when ctx has ended.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 && !q.shutDown {
		stop := wakeWhenDone(ctx, &q.ready)
		defer stop()
	}
	for len(q.order) == 0 && !q.shutDown && ctx.Err() == nil {
		q.ready.Wait()
	}
	if len(q.order) == 0 || ctx.Err() != nil {
		return item, false
	}
	item = q.order[0]
	var zero T
	q.order[0] = zero // what it points to must not outlive its work
	q.order = q.order[1:]
	q.processing[item] = struct{}{}
	delete(q.dirty, item)
	q.measured.take(item)
	return item, true
}

// Done says that the work on an item that Get gave has ended. If it was added meanwhile it goes back into the order.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.processing, item)
	q.measured.done(item)
	if _, again := q.dirty[item]; again {
		q.order = append(q.order, item)
		q.ready.Signal()
	}
	if len(q.order)+len(q.processing) == 0 {
		q.idle.Broadcast()
	}
}

// ShutDown refuses new items, drops the delayed ones, and lets Get return false once the waiting ones are taken.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
}

// ShutDownWithDrain shuts down and waits until every item that was waiting or being processed is done, or ctx ends,
// whose error it then returns. Somebody must go on calling Get and Done meanwhile.
func (q *Queue[T]) ShutDownWithDrain(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
	stop := wakeWhenDone(ctx, &q.idle)
	defer stop()
	for len(q.order)+len(q.processing) > 0 && ctx.Err() == nil {
		q.idle.Wait()
	}
	if len(q.order)+len(q.processing) > 0 {
		return ctx.Err()
	}
	return nil
}

// ShuttingDown says whether ShutDown was called.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutDown
}

func (q *Queue[T]) stop() {
	q.shutDown = true
	q.delayed.stop()
	q.ready.Broadcast()
}

// wakeWhenDone makes the end of ctx wake those who wait on cond.
func wakeWhenDone(ctx context.Context, cond *sync.Cond) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		cond.L.Lock()
		defer cond.L.Unlock()
		cond.Broadcast()
	})
}
