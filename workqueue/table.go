package workqueue

import (
	"iter"
	"math"
)

// entry is the state of one item.
type entry[T comparable] struct {
	item           T
	prev, next     position // neighbors in its line; next also links free entries
	added, started int64    // nanoseconds since measured.start; 0 unless the queue is measured
	turn           uint32   // number of its last dequeuing in a batch; 0 if it was never in one
	priority       Priority
	processing     bool
	dirty          bool // needs work: it waits, or will wait after the current processing
}

// position is the position of an entry, counted from 1; 0 means none. Entries do not move, and neither they nor
// the table contain pointers to entries, so the garbage collector scans only the items.
type position int32

// table is a hash table of entries by item, with linear probing. Hashes are computed before the queue is
// locked; under the lock, an operation reads one or two slots and one entry. Its memory is that of the
// largest number of entries since it was last empty.
type table[T comparable] struct {
	slots  []slot // a power of two, at most half full
	count  int
	chunks []*[chunkSize]entry[T]
	used   position // highest position in use
	free   position // first of the list of free entries
	turn   uint32   // the last turn assigned to an entry
}

type slot struct {
	hash uint32
	at   position
}

const (
	chunkSize   = 128
	fewestSlots = 64
	mostChunks  = 64 // retained by an empty table
)

// at returns the entry at a position.
func (t *table[T]) at(p position) *entry[T] { return &t.chunks[(p-1)/chunkSize][(p-1)%chunkSize] }

// find returns an item's position and entry, or 0.
func (t *table[T]) find(item T, hash uint32) (position, *entry[T]) {
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

// insert adds an entry for an item that has none.
func (t *table[T]) insert(item T, hash uint32) (position, *entry[T]) {
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

// remove removes the entry at a position, whose item has the given hash.
func (t *table[T]) remove(p position, hash uint32) {
	mask := uint32(len(t.slots) - 1)
	hole := hash & mask
	for t.slots[hole].at != p {
		hole = (hole + 1) & mask
	}
	// Move later slots of the probe sequence into the hole, so that no tombstones are needed.
	for i := (hole + 1) & mask; t.slots[i].at != 0; i = (i + 1) & mask {
		if home := t.slots[i].hash & mask; (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = slot{}
	t.count--
	*t.at(p) = entry[T]{next: t.free} // let the item be garbage-collected
	t.free = p
	if t.count == 0 && len(t.chunks) > mostChunks {
		*t = table[T]{turn: t.turn}
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

// occupy stores a slot at the first free position of its probe sequence.
func (t *table[T]) occupy(s slot) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].at != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// turns reserves n turns for the items of a batch and returns the first. When the numbers wrap, it resets the turns of
// all entries, whose batches have been taken.
func (t *table[T]) turns(n uint32) (first uint32) {
	if t.turn > math.MaxUint32-n {
		t.turn = 0
		for e := range t.all() {
			e.turn = 0
		}
	}
	first = t.turn + 1
	t.turn += n
	return first
}

// all iterates over the entries in no order.
func (t *table[T]) all() iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		for _, s := range t.slots {
			if s.at != 0 && !yield(t.at(s.at)) {
				return
			}
		}
	}
}
