package store

// queue is a first-in, first-out list whose elements keep their number for ever, so that a reader's place in it is a
// number too and holds on to nothing.
type queue[T any] struct {
	items []T
	head  int    // items before it are gone
	first uint64 // the number of items[head]
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// end is the number that the next element will have.
func (q *queue[T]) end() uint64 { return q.first + uint64(q.len()) }

// push appends an element. A full array is replaced by one of twice the size: append does so with short ones alone, and a start
// pushes very many, and keeps its garbage.
func (q *queue[T]) push(v T) {
	if len(q.items) == cap(q.items) {
		q.items = append(make([]T, 0, 2*len(q.items)+1), q.items...)
	}
	q.items = append(q.items, v)
}

// at is the element of a number in [first, end).
func (q *queue[T]) at(number uint64) *T { return &q.items[q.head+int(number-q.first)] }

// pop removes the first element. When half of the array is gone the rest moves to one of its own size: each element
// moves once on average, and what a burst needed is given back. A small array that is empty is used again.
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
