package workqueue

import (
	"sync"
	"sync/atomic"
)

// intake holds the calls of Add and Done that found the queue's lock taken. The holder of the lock executes
// them before it releases the lock, so that Add and Done do not wait for it ("flat combining", Hendler et
// al., SPAA 2010). The calls of one goroutine are executed in their order.
//
// Fields that different goroutines write are in different cache lines, to avoid false sharing.
type intake[T comparable] struct {
	pending atomic.Bool // asks is not empty
	_       cacheLine
	mu      sync.Mutex
	asks    []ask[T]
	_       cacheLine
	used    []ask[T] // empty slice for reuse, guarded by the queue's lock
}

type cacheLine [64]byte

// ask is one call of Add or Done.
type ask[T comparable] struct {
	item     T
	hash     uint32
	priority Priority
	done     bool
}

// mostAsks bounds the intake: when it is full, callers wait for the lock.
const mostAsks = 256

// put appends an ask and returns the number of asks before it. If that is mostAsks, the ask was not appended.
func (i *intake[T]) put(a ask[T]) (before int) {
	i.mu.Lock()
	before = len(i.asks)
	if before < mostAsks {
		i.asks = append(i.asks, a)
	}
	if before == 0 {
		i.pending.Store(true)
	}
	i.mu.Unlock()
	return before
}

// take returns the asks in order. The caller holds the queue's lock and must call reuse.
func (i *intake[T]) take() []ask[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending.Store(false)
	asks := i.asks
	i.asks = i.used
	return asks
}

// reuse recycles executed asks. The caller holds the queue's lock.
func (i *intake[T]) reuse(asks []ask[T]) {
	clear(asks) // do not retain what items point to
	i.used = asks[:0]
}

// tryLock acquires the lock if it is free, and executes pending asks.
func (q *Queue[T]) tryLock() bool {
	if !q.mu.TryLock() {
		return false
	}
	q.catchUp()
	return true
}

// leave has the holder of the lock execute a call. The first of several pending calls ensures that some
// goroutine holds the lock.
func (q *Queue[T]) leave(a ask[T]) {
	switch before := q.intake.put(a); {
	case before == mostAsks:
		q.lock()
		q.perform(&a)
		q.unlock()
	case before == 0 && q.mu.TryLock(): // otherwise the holder checks the intake after this put
		q.unlock()
	}
}

// lock acquires the lock and executes pending asks.
func (q *Queue[T]) lock() {
	q.mu.Lock()
	q.catchUp()
}

// unlock executes pending asks and releases the lock.
func (q *Queue[T]) unlock() {
	for {
		q.catchUp()
		q.mu.Unlock()
		if !q.intake.pending.Load() || !q.mu.TryLock() {
			return
		}
	}
}

func (q *Queue[T]) catchUp() {
	if !q.intake.pending.Load() {
		return
	}
	asks := q.intake.take()
	for i := range asks {
		q.perform(&asks[i])
	}
	q.intake.reuse(asks)
}

func (q *Queue[T]) perform(a *ask[T]) {
	if a.done {
		q.done(a.item, a.hash)
	} else {
		q.add(a.item, a.hash, a.priority)
	}
}
