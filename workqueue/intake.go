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

// mostKept is how many asks an empty intake keeps room for.
const mostKept = 1024

func (i *intake[T]) put(a ask[T]) {
	i.mu.Lock()
	i.asks = append(i.asks, a)
	i.mu.Unlock()
	i.pending.Store(true)
}

// take is what was put in, in order. The lock of the queue is held; the result is valid until the next take.
func (i *intake[T]) take() []ask[T] {
	i.pending.Store(false)
	i.mu.Lock()
	defer i.mu.Unlock()
	asks := i.asks
	clear(i.used)
	i.asks, i.used = i.used[:0], asks
	if cap(i.asks) > mostKept {
		i.asks = nil
	}
	return asks
}

// do does what is asked for, now or when whoever has the lock lets it go.
func (q *Queue[T]) do(a ask[T]) {
	if q.mu.TryLock() {
		q.catchUp()
		q.perform(a)
		q.unlock()
		return
	}
	q.intake.put(a)
	if q.mu.TryLock() { // or who has it comes by the intake after this
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
	for _, a := range q.intake.take() {
		q.perform(a)
	}
}

func (q *Queue[T]) perform(a ask[T]) {
	if a.done {
		q.done(a.item, a.hash)
	} else {
		q.add(a.item, a.hash, a.priority)
	}
}
