package workqueue

import (
	"container/heap"
	"time"
)

// delays are the items that are not due yet: a heap by time, the place of each item in it, and one timer for the first.
type delays[T comparable] struct {
	heap  []*delayed[T]
	items map[T]*delayed[T]
	timer *time.Timer
}

type delayed[T comparable] struct {
	item  T
	due   time.Time
	index int
}

// put notes when an item is due, unless it is due earlier already, and says whether it is now the first of all.
func (d *delays[T]) put(item T, due time.Time) (first bool) {
	if d.items == nil {
		d.items = map[T]*delayed[T]{}
	}
	e, waits := d.items[item]
	switch {
	case !waits:
		e = &delayed[T]{item: item, due: due}
		d.items[item] = e
		heap.Push(d, e)
	case due.Before(e.due):
		e.due = due
		heap.Fix(d, e.index)
	default:
		return false
	}
	return e.index == 0
}

// take removes the first item if it is due.
func (d *delays[T]) take(now time.Time) (item T, ok bool) {
	if len(d.heap) == 0 || d.heap[0].due.After(now) {
		return item, false
	}
	e := heap.Pop(d).(*delayed[T])
	delete(d.items, e.item)
	return e.item, true
}

// stop drops everything.
func (d *delays[T]) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.heap, d.items = nil, nil
}

// Len, Less, Swap, Push and Pop are what container/heap asks for.
func (d *delays[T]) Len() int           { return len(d.heap) }
func (d *delays[T]) Less(i, j int) bool { return d.heap[i].due.Before(d.heap[j].due) }

func (d *delays[T]) Swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].index, d.heap[j].index = i, j
}

func (d *delays[T]) Push(x any) {
	e := x.(*delayed[T])
	e.index = len(d.heap)
	d.heap = append(d.heap, e)
}

func (d *delays[T]) Pop() any {
	last := len(d.heap) - 1
	e := d.heap[last]
	d.heap[last] = nil
	d.heap = d.heap[:last]
	return e
}

// schedule sets the timer to the first delayed item. The lock is held.
func (q *Queue[T]) schedule() {
	if len(q.delayed.heap) == 0 {
		return
	}
	wait := time.Until(q.delayed.heap[0].due)
	if q.delayed.timer == nil {
		q.delayed.timer = time.AfterFunc(wait, q.release)
		return
	}
	q.delayed.timer.Reset(wait)
}

// release adds what is due: the timer's work.
func (q *Queue[T]) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for item, ok := q.delayed.take(now); ok; item, ok = q.delayed.take(now) {
		q.add(item)
	}
	q.schedule()
}
