package workqueue

import (
	"context"
	"slices"
)

// getters are the calls of Get that wait. One is woken at a time, which takes what there is and wakes the next if there is
// more: a burst that is added while the first wakes up costs one awakening, not one for each item.
type getters struct {
	waiting []*getter // the one that came last is woken first: its stack is warm
	spare   []*getter
	waking  bool // one has been woken and has not come back yet
}

// getter is one call of Get that waits.
type getter struct {
	wake chan struct{} // takes one, so that waking never waits
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

// wakeOne wakes one, unless one is waking already.
func (g *getters) wakeOne() {
	last := len(g.waiting) - 1
	if last < 0 || g.waking {
		return
	}
	g.waiting[last].wake <- struct{}{}
	g.waiting = g.waiting[:last]
	g.waking = true
}

// wakeAll wakes everybody.
func (g *getters) wakeAll() {
	for _, who := range g.waiting {
		who.wake <- struct{}{}
	}
	g.waiting = g.waiting[:0]
}

// await waits for what the queue has to offer, or the end of ctx. The lock is held, but not while it waits.
func (q *Queue[T]) await(ctx context.Context) {
	who := q.getters.push()
	q.asleep.Store(true)
	q.unlock()
	select {
	case <-who.wake:
		q.lock()
		q.getters.waking = false
	case <-ctx.Done():
		q.lock()
		if i := slices.Index(q.getters.waiting, who); i >= 0 {
			q.getters.waiting = slices.Delete(q.getters.waiting, i, i+1)
			break
		}
		<-who.wake
		q.getters.waking = false
	}
	q.getters.spare = append(q.getters.spare, who)
}
