package informer

import (
	"context"
	"slices"
	"sync"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// deltaType is the kind of a change.
type deltaType string

// deltaAdded, deltaUpdated and deltaDeleted are changes reported by a watch. deltaReplaced is a state from a list.
// deltaSync is a resync, not a change.
const (
	deltaAdded    deltaType = "Added"
	deltaUpdated  deltaType = "Updated"
	deltaDeleted  deltaType = "Deleted"
	deltaReplaced deltaType = "Replaced"
	deltaSync     deltaType = "Sync"
)

// delta is one change of an object.
type delta[T client.Object] struct {
	Type deltaType
	// state is the state after the change, or the last state of a deleted object.
	state *state[T]
	// unknown is set if the deletion was inferred, so that state may not be the last state.
	unknown bool
	// restored is set if a list had an older revision than was known: the server was restored from a
	// backup, and earlier revisions belong to another history.
	restored bool
	// merged is set if states between the previous one and this one were left out.
	merged bool
	// vanished marks the trace of an object that was created after a pending deletion and deleted again.
	vanished bool
}

// deltaFIFO is the queue between the reflector, which must not block, and the cache. It dequeues keys in the order in
// which they were enqueued, each with its accumulated changes: it drops superseded states, but never a deletion.
type deltaFIFO[T client.Object] struct {
	// cached is the current cache: replace enqueues deletions of cached objects that a list lacks, and resync enqueues
	// all cached objects.
	cached *Indexer[T]

	// processing is held while a batch is applied to the cache, so that replace and resync see a consistent
	// cache. It is acquired before mu.
	processing sync.Mutex

	mu       sync.Mutex
	ready    sync.Cond
	order    []*pending[T]
	byKey    map[Key]*pending[T]
	listed   bool            // the first list has been added
	complete object.Revision // all changes up to this revision have been added
	// vanished counts the pending traces; lost is set if further ones did not fit.
	vanished int
	lost     bool
}

// pending is an entry of the queue: a key with its changes, or the end of the first list.
type pending[T client.Object] struct {
	key     Key
	deltas  []delta[T]
	first   [1]delta[T] // backing array of deltas in the common case
	endList bool
}

// largeBatch is the size from which replacing a map is cheaper than clearing it.
const largeBatch = 1024

func newDeltaFIFO[T client.Object](cached *Indexer[T]) *deltaFIFO[T] {
	f := &deltaFIFO[T]{cached: cached, byKey: map[Key]*pending[T]{}}
	f.ready.L = &f.mu
	return f
}

// add enqueues changes in order. Together with the earlier ones, they are all changes up to a revision.
func (f *deltaFIFO[T]) add(changes []delta[T], upTo object.Revision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range changes {
		f.put(d)
	}
	f.complete = max(f.complete, upTo)
	f.ready.Signal()
}

// replace enqueues a list, the state at a revision. If complete is set, replace also enqueues deletions
// of the known objects that are not in the list.
func (f *deltaFIFO[T]) replace(list []*state[T], complete bool, at object.Revision) {
	f.processing.Lock()
	defer f.processing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	listed := make(map[Key]struct{}, len(list))
	restored := 0 < at && at < f.complete
	for _, s := range list {
		listed[s.key] = struct{}{}
		f.put(delta[T]{Type: deltaReplaced, state: s, restored: restored})
	}
	if complete {
		for _, s := range f.unlisted(listed) {
			f.put(delta[T]{Type: deltaDeleted, state: s, unknown: true})
		}
	}
	if !f.listed {
		f.listed = true
		f.order = append(f.order, &pending[T]{endList: true})
	}
	f.complete = at
	f.ready.Signal()
}

// unlisted returns the last known states of the objects that a list lacks.
func (f *deltaFIFO[T]) unlisted(listed map[Key]struct{}) []*state[T] {
	var missing []*state[T]
	for key, p := range f.byKey {
		last := p.deltas[len(p.deltas)-1]
		if _, found := listed[key]; !found && last.Type != deltaDeleted {
			missing = append(missing, last.state)
		}
	}
	for _, s := range append(f.cached.unreadableStates(), f.cached.snapshot()...) {
		_, found := listed[s.key]
		if _, queued := f.byKey[s.key]; !found && !queued {
			missing = append(missing, s)
		}
	}
	return sorted(missing)
}

// sorted sorts states by key.
func sorted[T client.Object](states []*state[T]) []*state[T] {
	slices.SortFunc(states, func(a, b *state[T]) int { return compareKeys(a.key, b.key) })
	return states
}

// resync queues every cached object that is not queued anyway.
func (f *deltaFIFO[T]) resync() {
	f.processing.Lock()
	defer f.processing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range sorted(slices.Clone(f.cached.snapshot())) {
		if _, queued := f.byKey[s.key]; !queued {
			f.put(delta[T]{Type: deltaSync, state: s})
		}
	}
	f.ready.Signal()
}

// put queues a delta after those pending for its key.
func (f *deltaFIFO[T]) put(d delta[T]) {
	p := f.byKey[d.state.key]
	if p == nil {
		p = &pending[T]{key: d.state.key}
		p.deltas = p.first[:0]
		f.byKey[p.key] = p
		f.order = append(f.order, p)
	}
	if n := len(p.deltas); n > 0 && d.Type == deltaReplaced {
		// another object took over the name
		if last := p.deltas[n-1]; last.Type != deltaDeleted && last.state.uid() != d.state.uid() {
			f.put(delta[T]{Type: deltaDeleted, state: last.state, unknown: true})
		}
	}
	if comesAndGoes(p.deltas, d) {
		f.vanish(p, d)
		return
	}
	p.deltas = combine(p.deltas, d)
}

// maxDeltas is the number of pending deltas of one key from which an object that is created and deleted leaves only
// a trace, so that at most one more state waits.
const maxDeltas = 15

// comesAndGoes reports whether a delta deletes an object that was added after a deletion, and many deltas are
// pending.
func comesAndGoes[T client.Object](waiting []delta[T], d delta[T]) bool {
	n := len(waiting) - 1
	return d.Type == deltaDeleted && n >= maxDeltas-1 && waiting[n].Type != deltaDeleted &&
		waiting[n-1].Type == deltaDeleted &&
		!isLate(waiting, d)
}

// vanish replaces the pending state of an object that d deletes by a trace.
func (f *deltaFIFO[T]) vanish(p *pending[T], d delta[T]) {
	n := len(p.deltas) - 1
	if f.vanished < maxTraces {
		f.vanished++
		p.deltas[n] = delta[T]{Type: deltaDeleted, state: d.state.trace(errTrace), vanished: true}
		return
	}
	p.deltas = slices.Delete(p.deltas, n, n+1)
	if !f.lost {
		f.lost = true
		f.cached.log.Error("too many objects were created and deleted before they were cached, so handlers miss "+
			"some deletions: restart programs that wait for deletions", "waiting", f.vanished)
	}
}

// isLate reports whether a delta is older than those pending.
func isLate[T client.Object](waiting []delta[T], d delta[T]) bool {
	last := &waiting[len(waiting)-1]
	return isWatched(d.Type) && !d.unknown && !last.unknown && d.state.older(last.state)
}

// combine adds a delta to those pending for its key. It drops the delta if a newer state precedes it, and a pending
// state that the delta supersedes.
func combine[T client.Object](waiting []delta[T], d delta[T]) []delta[T] {
	if len(waiting) == 0 {
		return append(waiting, d)
	}
	last := &waiting[len(waiting)-1]
	switch {
	case d.Type == deltaSync || isLate(waiting, d):
		return waiting
	case last.Type == deltaDeleted && d.Type == deltaDeleted:
		if last.unknown {
			*last = d
		}
		return waiting
	case last.Type == deltaDeleted || d.Type == deltaDeleted:
		return append(waiting, d)
	case last.Type == deltaAdded && d.Type != deltaReplaced:
		last.state, last.merged = d.state, true
		return waiting
	}
	d.restored, d.merged = d.restored || last.restored, true
	*last = d
	return waiting
}

// isWatched reports whether a delta is not from a list. The revisions of watch events only grow. A list replaces newer
// states too, since the server may have been restored from a backup.
func isWatched(t deltaType) bool { return t != deltaReplaced }

// processor applies a batch, which completes all changes up to a revision, to the cache and the handlers.
type processor[T client.Object] func(batch []*pending[T], upTo object.Revision)

// run processes the enqueued changes in batches until ctx ends.
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

// wait waits until there is something to process. It returns false if ctx has ended.
func (f *deltaFIFO[T]) wait(ctx context.Context, done object.Revision) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) == 0 && f.complete == done && ctx.Err() == nil {
		f.ready.Wait()
	}
	return ctx.Err() == nil
}

// pop processes one batch and returns the revision up to which all changes were added.
func (f *deltaFIFO[T]) pop(process processor[T]) object.Revision {
	f.processing.Lock()
	defer f.processing.Unlock()
	batch, upTo := f.takeBatch()
	process(batch, upTo)
	return upTo
}

func (f *deltaFIFO[T]) takeBatch() ([]*pending[T], object.Revision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch := f.order
	f.order, f.vanished, f.lost = nil, 0, false
	if len(batch) > largeBatch {
		f.byKey = map[Key]*pending[T]{}
	} else {
		clear(f.byKey)
	}
	return batch, f.complete
}
