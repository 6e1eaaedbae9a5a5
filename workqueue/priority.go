package workqueue

// Priority is how soon an item is taken among those that wait. Items of one priority come in the order in which they were
// added. The zero value is Normal.
type Priority int8

// What nobody waits for (a first list, a resync) is Low, so that what has just changed does not stand behind it.
const (
	Low    Priority = -1
	Normal Priority = 0
	High   Priority = 1
)

// share is how many items at most go before a lower line that waits: of share+1 items taken, one is the lower line's
// own. So a lower line moves, however much comes in above it.
const share = 8

// line is the items of one priority in their order.
type line struct {
	first, last place
	passed      int // how many items of other lines were taken since one of this was, while it waited
}

// lines are all that waits, the highest priority first. The entries are the table's.
type lines[T comparable] struct {
	table *table[T]
	of    [High - Low + 1]line
	count int
}

// push puts an entry at the end of the line of its priority.
func (l *lines[T]) push(p place, e *entry[T]) {
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

// pushFront puts an entry to the front of the line of its priority, from where it was popped.
func (l *lines[T]) pushFront(p place, e *entry[T]) {
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

// remove takes an entry out of its line, wherever it stands.
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

// alike says whether all that waits is in one line.
func (l *lines[T]) alike() bool {
	busy := 0
	for i := range l.of {
		if l.of[i].first != 0 {
			busy++
		}
	}
	return busy == 1
}

// pop takes the next entry; there must be one. It is the first of the highest line, unless it is a lower line's turn.
func (l *lines[T]) pop() (place, *entry[T]) {
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
