package informer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// settle decodes what comes into the cache, unless the informer is lazy. Only now: states that a newer one overtook while
// the cache was busy are not decoded at all. A list is decoded on all cores. Events are on one: the others have more to do
// with what comes next, and the further that gets ahead, the more is overtaken. What cannot be decoded stays as it is.
func (i *Informer[T]) settle(batch []*pending[T]) {
	if i.reader.lazy {
		return
	}
	var undecoded []*state[T]
	listed := false
	for _, p := range batch {
		for n, d := range p.deltas {
			twice := n > 0 && p.deltas[n-1].state == d.state // a deletion was concluded from a state that waits itself
			if d.state.late != nil && !twice && d.state.late.kept.Load() == nil {
				undecoded = append(undecoded, d.state)
				listed = listed || d.Type == Replaced
			}
		}
	}
	helpers := 0
	if listed && i.reader.converter.decode == nil { // a user's is called by one goroutine at a time
		helpers = runtime.GOMAXPROCS(0) - 1
	}
	i.reader.decodeAll(undecoded, helpers)
}

// alone is how many objects are decoded at most without the help of other goroutines, which cost more than a few objects.
const alone = 32

// decodeAll decodes states. Those that cannot be are counted and reported.
func (r *reader[T]) decodeAll(states []*state[T], helpers int) {
	var next atomic.Int64
	work := func() {
		for {
			to := int(next.Add(alone))
			if to-alone >= len(states) {
				return
			}
			for _, s := range states[to-alone : min(to, len(states))] {
				r.decodeState(s)
			}
		}
	}
	var helping sync.WaitGroup
	for range min(helpers, len(states)/alone) {
		helping.Go(work)
	}
	work()
	helping.Wait()
}

// decodeState decodes a state that nobody else has seen yet.
func (r *reader[T]) decodeState(s *state[T]) {
	obj, err := r.decode(s.late.codec, s.late.raw)
	if err != nil {
		s.late.kept.Store(&kept[T]{err: err})
		r.unreadable.Add(1)
		r.log.Error("an object cannot be read: its last known state stands", "error", err)
		return
	}
	s.key, s.obj, s.late = KeyOf(obj), obj, nil // the same key, in the object's own memory
}

// passOver counts and reports an object that is not even known by its name.
func (r *reader[T]) passOver(err error) {
	r.unreadable.Add(1)
	r.log.Error("an object cannot be read: it is passed over", "error", err)
}

// Unreadable is how many objects, each time that they were listed or changed, could not be decoded or transformed. Such an
// object is logged and passed over: its last known state stands, and all others go on; see UnreadableError. While a list has an
// object that is not even known by its name, what that list lacks is not taken for deleted: it stays cached until a watch tells
// of its deletion, or a later list can be read whole (Options.Relist).
func (i *Informer[T]) Unreadable() int { return int(i.reader.unreadable.Load()) }
