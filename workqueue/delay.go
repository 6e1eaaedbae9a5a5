package workqueue

import (
	"container/heap"
	"time"
)

// delays holds the items that are not due yet: a heap by time, an index by item, and one timer for the first.
// The queue's lock guards it.
type delays[T comparable] struct {
	release func() // called by the timer
	heap    []*delayed[T]
	items   map[T]*delayed[T]
	timer   *time.Timer
}

type delayed[T comparable] struct {
	item     T
	due      time.Time
	priority Priority
	index    int
}

// put delays an item until due. If the item is already delayed, the earlier time and the higher priority win. put
// reports whether the time of the first item changed, so that the caller must call schedule.
func (d *delays[T]) put(item T, due time.Time, priority Priority) (first bool) {
	if d.items == nil {
		d.items = map[T]*delayed[T]{}
	}
	e, waits := d.items[item]
	if waits {
		e.priority = max(e.priority, priority)
	}
	switch {
	case !waits:
		e = &delayed[T]{item: item, due: due, priority: priority}
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

// take removes and returns the first item if it is due, or returns nil.
func (d *delays[T]) take(now time.Time) *delayed[T] {
	if len(d.heap) == 0 || d.heap[0].due.After(now) {
		return nil
	}
	e := heap.Pop(d).(*delayed[T])
	delete(d.items, e.item)
	if len(d.heap) == 0 {
		d.heap, d.items = nil, nil // slices and maps do not shrink
	}
	return e
}

// stop drops all items.
func (d *delays[T]) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.heap, d.items = nil, nil
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
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

// schedule sets the timer for the first item.
func (d *delays[T]) schedule() {
	if len(d.heap) == 0 {
		return
	}
	wait := time.Until(d.heap[0].due)
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, d.release)
		return
	}
	d.timer.Reset(wait)
}

// release adds the items that are due. The timer calls it.
func (q *Queue[T]) release() {
	q.lock()
	defer q.unlock()
	now := time.Now()
	for e := q.delayed.take(now); e != nil; e = q.delayed.take(now) {
		q.add(e.item, q.hash(e.item), e.priority)
	}
	q.delayed.schedule()
}
