package informer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// decodeBatch decodes the states of a batch, unless the informer is lazy. At this point, states that were superseded
// while they were queued need no decoding. Lists are decoded on all cores, events on one: the other cores are needed to
// receive the events that follow, which supersede some of these. States that cannot be decoded stay encoded.
func (r *reader[T]) decodeBatch(batch []*pending[T]) {
	if r.lazy {
		return
	}
	var undecoded []*state[T]
	listed := false
	for _, p := range batch {
		for n, d := range p.deltas {
			// a deletion was inferred from a state that is pending itself
			duplicate := n > 0 && p.deltas[n-1].state == d.state
			if d.state.encoded != nil && !duplicate && d.state.encoded.result.Load() == nil {
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

// decodeChunk is the number of states that a goroutine decodes at a time. With fewer states, helpers do not pay off.
const decodeChunk = 32

// decodeAll decodes states. It counts and logs failures.
func (r *reader[T]) decodeAll(states []*state[T], helpers int) {
	var next atomic.Int64
	work := func() {
		for {
			end := int(next.Add(decodeChunk))
			if end-decodeChunk >= len(states) {
				return
			}
			for _, s := range states[end-decodeChunk : min(end, len(states))] {
				r.decodeState(s)
			}
		}
	}
	var helping sync.WaitGroup
	for range min(helpers, len(states)/decodeChunk) {
		helping.Go(work)
	}
	work()
	helping.Wait()
}

// decodeState decodes a state that is not shared yet.
func (r *reader[T]) decodeState(s *state[T]) {
	obj, err := r.decode(s.encoded.codec, s.encoded.raw)
	if err != nil {
		s.encoded.result.Store(&decodeResult[T]{err: err})
		r.unreadable.Add(1)
		r.log.Error("an object cannot be decoded: its last known state remains cached", "error", err)
		return
	}
	s.key, s.obj, s.encoded = KeyOf(obj), obj, nil // an equal key that does not retain the encoded object
}

// reportUnreadable counts and logs an object whose name could not be decoded.
func (r *reader[T]) reportUnreadable(err error) {
	r.unreadable.Add(1)
	r.log.Error("an object cannot be decoded and is skipped", "error", err)
}

// Unreadable returns the number of states that could not be decoded or transformed since Run was called. The informer
// logs each, and the last known state of the object remains cached; see UnreadableError. If even the name of a listed
// object cannot be decoded, the informer cannot tell from the list which objects were deleted: objects that the list
// lacks stay cached until a watch reports their deletion or a later list is complete (Options.Relist).
func (i *Informer[T]) Unreadable() int { return int(i.reader.unreadable.Load()) }
