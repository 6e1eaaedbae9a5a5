package workqueue

import (
	"sync"
	"sync/atomic"
)

// intake is where Add and Done leave what they want when somebody else has the queue's lock, so that they never wait for
// it: whoever has the lock does it before letting go ("flat combining", Hendler et al., SPAA 2010). Many producers and
// workers then take turns without putting each other to sleep. What one goroutine asks for is done in its order.
type intake[T comparable] struct {
	pending atomic.Bool

	mu   sync.Mutex
	asks []ask[T]
	used []ask[T] // emptied, to be filled next
}

// ask is one call of Add or Done.
type ask[T comparable] struct {
	item     T
	hash     uint32
	priority Priority
	done     bool
}

// mostAsks is how many asks there may be: whoever has one more waits for the lock.
const mostAsks = 256

// put is false when there are too many asks already.
func (i *intake[T]) put(a ask[T]) bool {
	i.mu.Lock()
	full := len(i.asks) >= mostAsks
	if !full {
		i.asks = append(i.asks, a)
	}
	i.mu.Unlock()
	i.pending.Store(true)
	return !full
}

// take is what was put in, in order. The lock of the queue is held; the result is valid until the next take.
func (i *intake[T]) take() []ask[T] {
	i.pending.Store(false)
	i.mu.Lock()
	defer i.mu.Unlock()
	asks := i.asks
	clear(i.used)
	i.asks, i.used = i.used[:0], asks
	return asks
}

// tryLock takes the lock if nobody has it, and does what was asked for before.
func (q *Queue[T]) tryLock() bool {
	if !q.mu.TryLock() {
		return false
	}
	q.catchUp()
	return true
}

// leave has an ask done when whoever has the lock lets it go.
func (q *Queue[T]) leave(a ask[T]) {
	switch {
	case !q.intake.put(a):
		q.lock()
		q.perform(&a)
		q.unlock()
	case q.mu.TryLock(): // or who has it comes by the intake after this
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
}

func (q *Queue[T]) perform(a *ask[T]) {
	if a.done {
		q.done(a.item, a.hash)
	} else {
		q.add(a.item, a.hash, a.priority)
	}
}
