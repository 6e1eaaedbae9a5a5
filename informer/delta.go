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

// Delta is one thing that happened to an object.
type Delta[T client.Object] struct {
	Type DeltaType
	// Object is the state after it; of a deleted object the last state.
	Object T
	// FinalStateUnknown says that a deletion was not seen but concluded, so that Object may not be the last state.
	FinalStateUnknown bool
}

// deltaFIFO stands between the reflector, which must not wait, and the cache. Keys come out in the order in which they
// first went in, each with all that happened to it meanwhile: a state that was overtaken by a newer one is left out,
// but never a deletion.
type deltaFIFO[T client.Object] struct {
	// cached is what has been taken out already: what a list no longer has must be deleted, and what is there is synced.
	cached *Indexer[T]

	mu      sync.Mutex
	ready   sync.Cond
	order   []entry
	deltas  map[Key][]Delta[T]
	listed  bool   // the first list is in
	whenAll func() // called once, when all of the first list has been taken out
}

// entry is a place in the order: a key, or the end of the first list.
type entry struct {
	key     Key
	endList bool
}

func newDeltaFIFO[T client.Object](cached *Indexer[T], whenAll func()) *deltaFIFO[T] {
	f := &deltaFIFO[T]{cached: cached, deltas: map[Key][]Delta[T]{}, whenAll: whenAll}
	f.ready.L = &f.mu
	return f
}

// add takes one change in.
func (f *deltaFIFO[T]) add(d Delta[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(d)
}

// replace takes in a list, which is all that there is: what is known and not in it has been deleted.
func (f *deltaFIFO[T]) replace(list []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	listed := make(map[Key]struct{}, len(list))
	for _, obj := range list {
		listed[KeyOf(obj)] = struct{}{}
		f.put(Delta[T]{Type: Replaced, Object: obj})
	}
	for _, obj := range f.unlisted(listed) {
		f.put(Delta[T]{Type: Deleted, Object: obj, FinalStateUnknown: true})
	}
	if !f.listed {
		f.listed = true
		f.order = append(f.order, entry{endList: true})
		f.ready.Signal()
	}
}

// unlisted is the last known state of what is not in a list.
func (f *deltaFIFO[T]) unlisted(listed map[Key]struct{}) []T {
	var gone []T
	for key, deltas := range f.deltas {
		if _, there := listed[key]; !there && deltas[len(deltas)-1].Type != Deleted {
			gone = append(gone, deltas[len(deltas)-1].Object)
		}
	}
	for _, key := range f.cached.keys() {
		_, there := listed[key]
		if _, queued := f.deltas[key]; !there && !queued {
			obj, _ := f.cached.Get(key)
			gone = append(gone, obj)
		}
	}
	slices.SortFunc(gone, func(a, b T) int { return compareKeys(KeyOf(a), KeyOf(b)) })
	return gone
}

// resync puts every cached object in again, unless it comes anyway.
func (f *deltaFIFO[T]) resync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := f.cached.keys()
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		if _, queued := f.deltas[key]; !queued {
			obj, _ := f.cached.Get(key)
			f.put(Delta[T]{Type: Sync, Object: obj})
		}
	}
}

// put queues a delta behind what waits for its key.
func (f *deltaFIFO[T]) put(d Delta[T]) {
	key := KeyOf(d.Object)
	waiting, queued := f.deltas[key]
	f.deltas[key] = combine(waiting, d)
	if !queued {
		f.order = append(f.order, entry{key: key})
		f.ready.Signal()
	}
}

// combine adds a delta to those that wait for its key. Deltas that wait are in their order; a change that comes late,
// behind a newer state, is dropped, and so is a state that a newer one follows.
func combine[T client.Object](waiting []Delta[T], d Delta[T]) []Delta[T] {
	if len(waiting) == 0 {
		return append(waiting, d)
	}
	last := &waiting[len(waiting)-1]
	switch {
	case d.Type == Sync || isWatched(d.Type) && !d.FinalStateUnknown && older(d.Object, last.Object):
		return waiting
	case last.Type == Deleted && d.Type == Deleted:
		if last.FinalStateUnknown {
			*last = d
		}
		return waiting
	case last.Type == Deleted || d.Type == Deleted:
		return append(waiting, d)
	case last.Type == Added:
		last.Object = d.Object
		return waiting
	}
	*last = d
	return waiting
}

// isWatched says whether a delta is one of a watch's events, whose revisions only grow. A list is right whatever its
// revision is: the server may have been restored.
func isWatched(t DeltaType) bool { return t != Replaced }

// older says whether a is a state from before b.
func older(a, b client.Object) bool {
	ra, errA := object.ParseRevision(a.GetResourceVersion())
	rb, errB := object.ParseRevision(b.GetResourceVersion())
	return errA == nil && errB == nil && ra < rb
}

// pop waits for the next key and has its deltas processed before anything else is taken in: replace and resync compare
// with the cache, which processing changes. So process must not wait. The result is false when ctx has ended.
func (f *deltaFIFO[T]) pop(ctx context.Context, process func(Key, []Delta[T])) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) == 0 && ctx.Err() == nil {
		f.ready.Wait()
	}
	if ctx.Err() != nil {
		return false
	}
	next := f.order[0]
	f.order[0] = entry{}
	f.order = f.order[1:]
	if next.endList {
		f.whenAll()
		return true
	}
	deltas := f.deltas[next.key]
	delete(f.deltas, next.key)
	process(next.key, deltas)
	return true
}

// run pops until ctx ends.
func (f *deltaFIFO[T]) run(ctx context.Context, process func(Key, []Delta[T])) {
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ready.Broadcast()
	})
	defer stop()
	for f.pop(ctx, process) {
	}
}
