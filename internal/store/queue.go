package store

// queue is a first-in, first-out list whose elements have permanent numbers. A reader's position is a number, so a
// slow reader keeps no element in memory.
type queue[T any] struct {
	items []T
	head  int    // items before it are gone
	first uint64 // the number of items[head]
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// end returns the number of the next element to be added.
func (q *queue[T]) end() uint64 { return q.first + uint64(q.len()) }

// push appends an element. It doubles the array when it is full; append does so only for short ones, and would
// produce much garbage when loading a log pushes very many elements.
func (q *queue[T]) push(v T) {
	if len(q.items) == cap(q.items) {
		q.items = append(make([]T, 0, 2*len(q.items)+1), q.items...)
	}
	q.items = append(q.items, v)
}

// at returns the element with a number in [first, end).
func (q *queue[T]) at(number uint64) *T { return &q.items[q.head+int(number-q.first)] }

// pop removes the first element. When half of the array is unused, the rest moves to a smaller one: each
// element moves once on average, and the memory of a burst is released. A small empty array is reused.
func (q *queue[T]) pop() T {
	v := q.items[q.head]
	var zero T
	q.items[q.head] = zero
	q.head++
	q.first++
	if q.len() == 0 && cap(q.items) <= 64 {
		q.items, q.head = q.items[:0], 0
	}
	if q.head >= 64 && q.head > len(q.items)/2 {
		q.items = append(make([]T, 0, q.len()*5/4), q.items[q.head:]...)
		q.head = 0
	}
	return v
}
