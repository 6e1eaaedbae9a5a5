package informer

import (
	"context"
	"slices"
	"sync"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// DeltaType is what happened to an object.
type DeltaType string

// Added, Updated and Deleted are changes that a watch told of. Replaced is the state that a list found. Sync is no
// change: the object is to be looked at again.
const (
	Added    DeltaType = "Added"
	Updated  DeltaType = "Updated"
	Deleted  DeltaType = "Deleted"
	Replaced DeltaType = "Replaced"
	Sync     DeltaType = "Sync"
)

// delta is one thing that happened to an object.
type delta[T client.Object] struct {
	Type DeltaType
	// state is the one after it; of a deleted object the last one.
	state *state[T]
	// unknown says that a deletion was not seen but concluded, so that state may not be the last one.
	unknown bool
	// restored says that a list with this state, or one before it, went back behind what had been told: the server was
	// restored, and revisions from before that are another history's.
	restored bool
	// merged says that states between the one before it and this one are left out.
	merged bool
	// vanished says that it is the trace of an object that came and went behind a deletion.
	vanished bool
}

// deltaFIFO stands between the reflector, which must not wait, and the cache. Keys come out in the order in which they
// first went in, each with all that happened to it meanwhile: a state that was overtaken by a newer one is left out,
// but never a deletion.
type deltaFIFO[T client.Object] struct {
	// cached is what has been taken out already: what a list no longer has must be deleted, and what is there is synced.
	cached *Indexer[T]

	// processing is held while what was taken out is brought into the cache, so that who compares with the cache can wait
	// for it. It is taken before mu.
	processing sync.Mutex

	mu     sync.Mutex
	ready  sync.Cond
	order  []*pending[T]
	byKey  map[Key]*pending[T]
	listed bool            // the first list is in
	told   object.Revision // up to it, everything has gone in
	// vanished is how many traces wait, and lost that no more fit.
	vanished int
	lost     bool
}

// pending is a place in the order: a key with what happened to it, or the end of the first list.
type pending[T client.Object] struct {
	key     Key
	deltas  []delta[T]
	first   [1]delta[T] // where most deltas need no more room than
	endList bool
}

// largeBatch is from when on a new map is cheaper than to clear one.
const largeBatch = 1024

func newDeltaFIFO[T client.Object](cached *Indexer[T]) *deltaFIFO[T] {
	f := &deltaFIFO[T]{cached: cached, byKey: map[Key]*pending[T]{}}
	f.ready.L = &f.mu
	return f
}

// add takes changes in, in their order. Everything up to a revision has then been told.
func (f *deltaFIFO[T]) add(changes []delta[T], upTo object.Revision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range changes {
		f.put(d)
	}
	f.told = max(f.told, upTo)
	f.ready.Signal()
}

// replace takes in a list, which is all that there is at a revision: what is known and not in it has been deleted, unless
// the list is not whole.
func (f *deltaFIFO[T]) replace(list []*state[T], whole bool, at object.Revision) {
	f.processing.Lock()
	defer f.processing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	listed := make(map[Key]struct{}, len(list))
	restored := 0 < at && at < f.told
	for _, s := range list {
		listed[s.key] = struct{}{}
		f.put(delta[T]{Type: Replaced, state: s, restored: restored})
	}
	if whole {
		for _, s := range f.unlisted(listed) {
			f.put(delta[T]{Type: Deleted, state: s, unknown: true})
		}
	}
	if !f.listed {
		f.listed = true
		f.order = append(f.order, &pending[T]{endList: true})
	}
	f.told = at
	f.ready.Signal()
}

// unlisted is the last known state of what is not in a list.
func (f *deltaFIFO[T]) unlisted(listed map[Key]struct{}) []*state[T] {
	var gone []*state[T]
	for key, p := range f.byKey {
		last := p.deltas[len(p.deltas)-1]
		if _, there := listed[key]; !there && last.Type != Deleted {
			gone = append(gone, last.state)
		}
	}
	for _, s := range append(f.cached.unreadStates(), f.cached.snapshot()...) {
		_, there := listed[s.key]
		if _, queued := f.byKey[s.key]; !there && !queued {
			gone = append(gone, s)
		}
	}
	return sorted(gone)
}

// sorted puts states in the order of their keys.
func sorted[T client.Object](states []*state[T]) []*state[T] {
	slices.SortFunc(states, func(a, b *state[T]) int { return compareKeys(a.key, b.key) })
	return states
}

// resync puts every cached object in again, unless it comes anyway.
func (f *deltaFIFO[T]) resync() {
	f.processing.Lock()
	defer f.processing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range sorted(slices.Clone(f.cached.snapshot())) {
		if _, queued := f.byKey[s.key]; !queued {
			f.put(delta[T]{Type: Sync, state: s})
		}
	}
	f.ready.Signal()
}

// put queues a delta behind what waits for its key.
func (f *deltaFIFO[T]) put(d delta[T]) {
	p := f.byKey[d.state.key]
	if p == nil {
		p = &pending[T]{key: d.state.key}
		p.deltas = p.first[:0]
		f.byKey[p.key] = p
		f.order = append(f.order, p)
	}
	if n := len(p.deltas); n > 0 && d.Type == Replaced {
		if last := p.deltas[n-1]; last.Type != Deleted && last.state.uid() != d.state.uid() { // another one had the name
			f.put(delta[T]{Type: Deleted, state: last.state, unknown: true})
		}
	}
	if comesAndGoes(p.deltas, d) {
		f.vanish(p, d)
		return
	}
	p.deltas = combine(p.deltas, d)
}

// mostDeltas is from when on objects of one key that come and go behind a deletion leave no more than a trace: not more than
// one state waits beyond that.
const mostDeltas = 15

// comesAndGoes says whether a delta is the end of an object that came behind a deletion, where many deltas wait.
func comesAndGoes[T client.Object](waiting []delta[T], d delta[T]) bool {
	n := len(waiting) - 1
	return d.Type == Deleted && n >= mostDeltas-1 && waiting[n].Type != Deleted && waiting[n-1].Type == Deleted &&
		!isLate(waiting, d)
}

// vanish leaves a trace of an object that came and went, in the place of its state.
func (f *deltaFIFO[T]) vanish(p *pending[T], d delta[T]) {
	n := len(p.deltas) - 1
	if f.vanished < mostTraces {
		f.vanished++
		p.deltas[n] = delta[T]{Type: Deleted, state: d.state.trace(errTrace), vanished: true}
		return
	}
	p.deltas = slices.Delete(p.deltas, n, n+1)
	if !f.lost {
		f.lost = true
		f.cached.log.Error("so many objects came and went before the cache took them in that no handler hears of some of them:"+
			" what waits for their deletion, as a client that reads its writes does, must be begun anew", "waiting", f.vanished)
	}
}

// isLate says whether a delta is from before those that wait.
func isLate[T client.Object](waiting []delta[T], d delta[T]) bool {
	last := &waiting[len(waiting)-1]
	return isWatched(d.Type) && !d.unknown && !last.unknown && d.state.older(last.state)
}

// combine adds a delta to those that wait for its key. Deltas that wait are in their order; a change that comes late,
// behind a newer state, is dropped, and so is a state that a newer one follows.
func combine[T client.Object](waiting []delta[T], d delta[T]) []delta[T] {
	if len(waiting) == 0 {
		return append(waiting, d)
	}
	last := &waiting[len(waiting)-1]
	switch {
	case d.Type == Sync || isLate(waiting, d):
		return waiting
	case last.Type == Deleted && d.Type == Deleted:
		if last.unknown {
			*last = d
		}
		return waiting
	case last.Type == Deleted || d.Type == Deleted:
		return append(waiting, d)
	case last.Type == Added && d.Type != Replaced:
		last.state, last.merged = d.state, true
		return waiting
	}
	d.restored, d.merged = d.restored || last.restored, true
	*last = d
	return waiting
}

// isWatched says whether a delta is one of a watch's events, whose revisions only grow. A list is right whatever its
// revision is: the server may have been restored.
func isWatched(t DeltaType) bool { return t != Replaced }

// processor brings a batch into the cache and to the handlers. Everything up to a revision has been told with it.
type processor[T client.Object] func(batch []*pending[T], upTo object.Revision)

// run has all that goes in processed, in batches: what came while one was processed is the next. It returns when ctx ends.
func (f *deltaFIFO[T]) run(ctx context.Context, process processor[T]) {
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ready.Broadcast()
	})
	defer stop()
	var done object.Revision
	for f.wait(ctx, done) {
		done = f.pop(process)
	}
}

// wait waits until there is something to process; false means that ctx has ended.
func (f *deltaFIFO[T]) wait(ctx context.Context, done object.Revision) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) == 0 && f.told == done && ctx.Err() == nil {
		f.ready.Wait()
	}
	return ctx.Err() == nil
}

// pop has all that waits processed, and returns up to where everything has been told.
func (f *deltaFIFO[T]) pop(process processor[T]) object.Revision {
	f.processing.Lock()
	defer f.processing.Unlock()
	batch, told := f.take()
	process(batch, told)
	return told
}

func (f *deltaFIFO[T]) take() ([]*pending[T], object.Revision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch := f.order
	f.order, f.vanished, f.lost = nil, 0, false
	if len(batch) > largeBatch {
		f.byKey = map[Key]*pending[T]{}
	} else {
		clear(f.byKey)
	}
	return batch, f.told
}
