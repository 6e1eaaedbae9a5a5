package informer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// decodeBatch decodes the states of a batch, unless the informer is lazy. Decoding this late skips states that
// were superseded while the cache was busy. Lists are decoded on all cores. Events are decoded on one: the
// other cores are needed for the events that follow, and more of these get superseded. States that cannot be
// decoded stay encoded.
func (r *reader[T]) decodeBatch(batch []*pending[T]) {
	if r.lazy {
		return
	}
	var undecoded []*state[T]
	listed := false
	for _, p := range batch {
		for n, d := range p.deltas {
			// a deletion was inferred from a state that is pending itself
			twice := n > 0 && p.deltas[n-1].state == d.state
			if d.state.late != nil && !twice && d.state.late.kept.Load() == nil {
				undecoded = append(undecoded, d.state)
				listed = listed || d.Type == deltaReplaced
			}
		}
	}
	helpers := 0
	if listed && r.converter.decode == nil { // Options.Decode is not called concurrently
		helpers = runtime.GOMAXPROCS(0) - 1
	}
	r.decodeAll(undecoded, helpers)
}

// alone is the number of objects from which helper goroutines pay off.
const alone = 32

// decodeAll decodes states. It counts and logs failures.
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

// decodeState decodes a state that is not shared yet.
func (r *reader[T]) decodeState(s *state[T]) {
	obj, err := r.decode(s.late.codec, s.late.raw)
	if err != nil {
		s.late.kept.Store(&kept[T]{err: err})
		r.unreadable.Add(1)
		r.log.Error("an object cannot be decoded: its last known state remains cached", "error", err)
		return
	}
	s.key, s.obj, s.late = KeyOf(obj), obj, nil // the same key, without retaining the encoded object
}

// passOver counts and logs an object whose name could not be decoded.
func (r *reader[T]) passOver(err error) {
	r.unreadable.Add(1)
	r.log.Error("an object cannot be decoded and is skipped", "error", err)
}

// Unreadable returns how many listed or changed objects could not be decoded or transformed. Such an object
// is logged and its last known state remains; see UnreadableError. If even the name of a listed object cannot
// be decoded, the list does not imply deletions: missing objects stay cached until a watch reports their
// deletion or a later list is complete (Options.Relist).
func (i *Informer[T]) Unreadable() int { return int(i.reader.unreadable.Load()) }
