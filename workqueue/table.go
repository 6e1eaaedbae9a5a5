package workqueue

import "iter"

// entry is one item that the queue knows.
type entry[T comparable] struct {
	item         T
	prev, next   place  // in the line where it waits; next is also the next free entry
	added, begun int64  // when, in nanoseconds of the measure's clock; 0 unless the queue is measured
	turn         uint32 // in which it was taken ahead of its worker; 0 if it never was
	priority     Priority
	processing   bool
	dirty        bool // work is to be done: it waits in line, or will when it has been processed
}

// place is where an entry is, counted from 1; 0 is nowhere. Entries stay where they are, and neither they nor the table
// hold pointers to each other: the garbage collector has only the items to look at.
type place int32

// table finds entries by their items. It is a map whose hashes are made before the queue is locked, with linear probing:
// under the lock, an operation reads one or two slots and one entry. Its memory is that of the most entries that there were
// since there were none.
type table[T comparable] struct {
	slots  []slot // a power of two, at most half full
	count  int
	chunks []*[chunkSize]entry[T]
	used   place // the last place that was ever used
	free   place // the first of the entries that are not used any more
}

type slot struct {
	hash uint32
	at   place
}

const (
	chunkSize   = 128
	fewestSlots = 64
	mostChunks  = 64 // that a table without entries keeps
)

// at is the entry at a place.
func (t *table[T]) at(p place) *entry[T] { return &t.chunks[(p-1)/chunkSize][(p-1)%chunkSize] }

// find is the place of an item's entry and the entry; 0 if there is none.
func (t *table[T]) find(item T, hash uint32) (place, *entry[T]) {
	if t.count == 0 {
		return 0, nil
	}
	mask := uint32(len(t.slots) - 1)
	for i := hash & mask; t.slots[i].at != 0; i = (i + 1) & mask {
		if t.slots[i].hash != hash {
			continue
		}
		if e := t.at(t.slots[i].at); e.item == item {
			return t.slots[i].at, e
		}
	}
	return 0, nil
}

// insert makes an entry of an item that has none.
func (t *table[T]) insert(item T, hash uint32) (place, *entry[T]) {
	if 2*t.count >= len(t.slots) {
		t.resize(max(2*len(t.slots), fewestSlots))
	}
	p := t.free
	if p == 0 {
		t.used++
		p = t.used
		if int(p) > len(t.chunks)*chunkSize {
			t.chunks = append(t.chunks, new([chunkSize]entry[T]))
		}
	}
	e := t.at(p)
	if p == t.free {
		t.free, e.next = e.next, 0
	}
	e.item = item
	t.occupy(slot{hash, p})
	t.count++
	return p, e
}

// remove forgets the entry at a place, whose item has that hash.
func (t *table[T]) remove(p place, hash uint32) {
	mask := uint32(len(t.slots) - 1)
	hole := hash & mask
	for t.slots[hole].at != p {
		hole = (hole + 1) & mask
	}
	// What follows and would be found through the hole moves into it, so that there are no tombstones.
	for i := (hole + 1) & mask; t.slots[i].at != 0; i = (i + 1) & mask {
		if home := t.slots[i].hash & mask; (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = slot{}
	t.count--
	*t.at(p) = entry[T]{next: t.free} // what the item points to must not outlive its work
	t.free = p
	if t.count == 0 && len(t.chunks) > mostChunks {
		*t = table[T]{}
	}
}

func (t *table[T]) resize(slots int) {
	old := t.slots
	t.slots = make([]slot, slots)
	for _, s := range old {
		if s.at != 0 {
			t.occupy(s)
		}
	}
}

// occupy puts a slot where find looks for it.
func (t *table[T]) occupy(s slot) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].at != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// all are the entries, in no order.
func (t *table[T]) all() iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		for _, s := range t.slots {
			if s.at != 0 && !yield(t.at(s.at)) {
				return
			}
		}
	}
}
