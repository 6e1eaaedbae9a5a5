package workqueue

// Priority determines which waiting items are dequeued first. Of nine items that are dequeued while items of a lower
// priority wait, at least one is of a lower priority, so that these are not starved. The zero value is Normal.
type Priority int8

// The priorities. Use Low for work that no change caused, such as an initial list or a resync, so that it does not
// delay the work that changes caused.
const (
	Low    Priority = -1
	Normal Priority = 0
	High   Priority = 1
)

// share is the number of items that may be dequeued from other lines while a line waits. Of share+1 items, one is
// therefore from the lower line. This prevents starvation.
const share = 8

// line is the queue of the items of one priority.
type line struct {
	first, last position
	passed      int // number of items dequeued from other lines since one of this was, while it waited
}

// lines holds all waiting items, highest priority first. The table owns the entries.
type lines[T comparable] struct {
	table *table[T]
	of    [High - Low + 1]line
	count int
}

// push appends an entry to the line of its priority.
func (l *lines[T]) push(p position, e *entry[T]) {
	in := &l.of[High-e.priority]
	e.prev = in.last
	if in.last == 0 {
		in.first = p
	} else {
		l.table.at(in.last).next = p
	}
	in.last = p
	l.count++
}

// pushFront returns an entry to the front of the line that it was popped from.
func (l *lines[T]) pushFront(p position, e *entry[T]) {
	in := &l.of[High-e.priority]
	e.next = in.first
	if in.first == 0 {
		in.last = p
	} else {
		l.table.at(in.first).prev = p
	}
	in.first = p
	l.count++
}

// remove removes an entry from its line.
func (l *lines[T]) remove(e *entry[T]) {
	in := &l.of[High-e.priority]
	if e.prev == 0 {
		in.first = e.next
	} else {
		l.table.at(e.prev).next = e.next
	}
	if e.next == 0 {
		in.last = e.prev
	} else {
		l.table.at(e.next).prev = e.prev
	}
	e.prev, e.next = 0, 0
	l.count--
}

// onePriority reports whether all waiting items are in one line.
func (l *lines[T]) onePriority() bool {
	busy := 0
	for i := range l.of {
		if l.of[i].first != 0 {
			busy++
		}
	}
	return busy == 1
}

// pop removes the next entry; there must be one. It is the first of the highest line, or of a lower line that has been
// passed over share times.
func (l *lines[T]) pop() (position, *entry[T]) {
	var from *line
	for i := range l.of {
		in := &l.of[i]
		if in.first != 0 && (from == nil || in.passed >= share) {
			from = in
		}
	}
	for i := range l.of {
		if in := &l.of[i]; in.first != 0 {
			in.passed++
		}
	}
	from.passed = 0
	p := from.first
	e := l.table.at(p)
	l.remove(e)
	return p, e
}
