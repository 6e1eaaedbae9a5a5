package workqueue

import (
	"sync"
	"sync/atomic"
)

// intake holds the calls of Add and Done that found the queue's lock taken. The goroutine that holds the lock executes
// them before it releases the lock, so that Add and Done do not wait for it ("flat combining", Hendler et
// al., SPAA 2010). The calls of one goroutine are executed in their order.
//
// Fields that different goroutines write are in different cache lines, to avoid false sharing.
type intake[T comparable] struct {
	pending atomic.Bool // whether calls is not empty
	_       cacheLine
	mu      sync.Mutex
	calls   []deferredCall[T]
	_       cacheLine
	spare   []deferredCall[T] // an empty slice for reuse; the queue's lock guards it
}

type cacheLine [64]byte

// deferredCall is a call of Done, or else of AddWithPriority.
type deferredCall[T comparable] struct {
	item     T
	hash     uint32
	priority Priority
	done     bool
}

// maxDeferred bounds the intake: when it is full, callers wait for the lock.
const maxDeferred = 256

// put appends a call and returns the number of calls before it. If that is maxDeferred, the call was not appended.
func (i *intake[T]) put(c deferredCall[T]) (before int) {
	i.mu.Lock()
	before = len(i.calls)
	if before < maxDeferred {
		i.calls = append(i.calls, c)
	}
	if before == 0 {
		i.pending.Store(true)
	}
	i.mu.Unlock()
	return before
}

// take removes and returns the calls in order. The caller holds the queue's lock and must pass the result to reuse.
func (i *intake[T]) take() []deferredCall[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending.Store(false)
	calls := i.calls
	i.calls = i.spare
	return calls
}

// reuse recycles the slice of executed calls. The caller holds the queue's lock.
func (i *intake[T]) reuse(calls []deferredCall[T]) {
	clear(calls) // let the items be garbage-collected
	i.spare = calls[:0]
}

// tryLock acquires the lock if it is free, and executes deferred calls. It reports whether it acquired the lock.
func (q *Queue[T]) tryLock() bool {
	if !q.mu.TryLock() {
		return false
	}
	q.catchUp()
	return true
}

// deferCall leaves a call to the goroutine that holds the lock. The caller whose call is the first in the intake
// ensures that some goroutine will execute them.
func (q *Queue[T]) deferCall(c deferredCall[T]) {
	switch before := q.intake.put(c); {
	case before == maxDeferred:
		q.lock()
		q.perform(&c)
		q.unlock()
	case before == 0 && q.mu.TryLock(): // otherwise the holder checks the intake after this put
		q.unlock()
	}
}

// lock acquires the lock and executes deferred calls.
func (q *Queue[T]) lock() {
	q.mu.Lock()
	q.catchUp()
}

// unlock executes deferred calls and releases the lock.
func (q *Queue[T]) unlock() {
	for {
		q.catchUp()
		q.mu.Unlock()
		if !q.intake.pending.Load() || !q.mu.TryLock() {
			return
		}
	}
}

// catchUp executes deferred calls. The caller holds the lock.
func (q *Queue[T]) catchUp() {
	if !q.intake.pending.Load() {
		return
	}
	calls := q.intake.take()
	for i := range calls {
		q.perform(&calls[i])
	}
	q.intake.reuse(calls)
}

func (q *Queue[T]) perform(c *deferredCall[T]) {
	if c.done {
		q.done(c.item, c.hash)
	} else {
		q.add(c.item, c.hash, c.priority)
	}
}
