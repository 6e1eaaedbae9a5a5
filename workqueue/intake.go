package workqueue

import (
	"sync"
	"sync/atomic"
)

// intake is where Add and Done leave what they want when somebody else has the queue's lock, so that they never wait for
// it: whoever has the lock does it before letting go ("flat combining", Hendler et al., SPAA 2010). Many producers and
// workers then take turns without putting each other to sleep. What one goroutine asks for is done in its order.
//
// What different goroutines write is in different cache lines: else each write of one of them has the others' processors fetch
// again what they read.
type intake[T comparable] struct {
	pending atomic.Bool // there are asks
	_       cacheLine
	mu      sync.Mutex
	asks    []ask[T]
	_       cacheLine
	used    []ask[T] // emptied, to be filled next; under the queue's lock
}

type cacheLine [64]byte

// ask is one call of Add or Done.
type ask[T comparable] struct {
	item     T
	hash     uint32
	priority Priority
	done     bool
}

// mostAsks is how many asks there may be: whoever has one more waits for the lock.
const mostAsks = 256

// put says how many asks were there before; if they were mostAsks, it has not put in another.
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

// take is what was put in, in order, to be reused afterwards. The lock of the queue is held.
func (i *intake[T]) take() []ask[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending.Store(false)
	asks := i.asks
	i.asks = i.used
	return asks
}

// reuse is for what was taken and has been done. The lock of the queue is held.
func (i *intake[T]) reuse(asks []ask[T]) {
	clear(asks) // what items point to must not outlive their work
	i.used = asks[:0]
}

// tryLock takes the lock if nobody has it, and does what was asked for before.
func (q *Queue[T]) tryLock() bool {
	if !q.mu.TryLock() {
		return false
	}
	q.catchUp()
	return true
}

// leave has an ask done when whoever has the lock lets it go. The first of several sees to it that somebody will.
func (q *Queue[T]) leave(a ask[T]) {
	switch before := q.intake.put(a); {
	case before == mostAsks:
		q.lock()
		q.perform(&a)
		q.unlock()
	case before == 0 && q.mu.TryLock(): // or who has it comes by the intake after this
		q.unlock()
	}
}

// lock takes the lock and does what was asked for before.
func (q *Queue[T]) lock() {
	q.mu.Lock()
	q.catchUp()
}

// unlock does what was asked for meanwhile and lets the lock go.
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
