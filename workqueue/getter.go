package workqueue

import (
	"context"
	"slices"
)

// getters holds the waiting calls of Get. Only one is woken at a time; it takes an item and wakes the next if items are
// left. A burst of additions thus costs its caller one wakeup, not one per item. The queue's lock guards it.
type getters struct {
	waiting []*getter // a stack: the latest waiter is woken first, because its stack is warm
	spare   []*getter
	waking  bool // a waiter was woken and has not run yet
}

// getter is a waiting call of Get.
type getter struct {
	wake chan struct{} // has capacity one, so that waking does not block
}

func (g *getters) push() *getter {
	var next *getter
	if last := len(g.spare) - 1; last >= 0 {
		next, g.spare = g.spare[last], g.spare[:last]
	} else {
		next = &getter{wake: make(chan struct{}, 1)}
	}
	g.waiting = append(g.waiting, next)
	return next
}

// wakeOne wakes a waiter, unless one is already waking.
func (g *getters) wakeOne() {
	last := len(g.waiting) - 1
	if last < 0 || g.waking {
		return
	}
	g.waiting[last].wake <- struct{}{}
	g.waiting = g.waiting[:last]
	g.waking = true
}

// wakeAll wakes all waiters.
func (g *getters) wakeAll() {
	for _, waiter := range g.waiting {
		waiter.wake <- struct{}{}
	}
	g.waiting = g.waiting[:0]
}

// await waits until it is woken or ctx ends. The caller holds the lock, which await releases while it waits.
func (q *Queue[T]) await(ctx context.Context) {
	waiter := q.getters.push()
	q.asleep.Store(true)
	q.unlock()
	select {
	case <-waiter.wake:
		q.lock()
		q.getters.waking = false
	case <-ctx.Done():
		q.lock()
		if i := slices.Index(q.getters.waiting, waiter); i >= 0 {
			q.getters.waiting = slices.Delete(q.getters.waiting, i, i+1)
			break
		}
		<-waiter.wake
		q.getters.waking = false
	}
	q.getters.spare = append(q.getters.spare, waiter)
}
