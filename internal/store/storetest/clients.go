package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/robustness"
)

func randomKey(random *rand.Rand) object.Key {
	switch i := fmt.Sprint(random.IntN(4)); random.IntN(4) {
	case 0:
		return object.KeyOf(networks, "default", i)
	case 1:
		return object.KeyOf(configMaps, "other", i)
	default:
		return Key(i)
	}
}

// write commits up to three changes and reports whether the store is still open. The first change always has
// an effect, so that each commit has its own revision.
func (e *episode) write(ctx context.Context, s *store.Store, random *rand.Rand) bool {
	var changes []robustness.Change
	for range 1 + random.IntN(3) {
		key := randomKey(random)
		if slices.ContainsFunc(changes, func(c robustness.Change) bool { return c.Key == string(key) }) {
			continue
		}
		changes = append(changes, e.change(key, s.Get(key), random, len(changes) > 0))
	}
	if !e.patient && random.IntN(10) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Microsecond)
		defer cancel()
	}
	var asks []store.Change
	for _, c := range changes {
		asks = append(asks, storeChange(c))
	}
	call := e.clock.Add(1)
	revision, err := s.Commit(ctx, asks...)
	e.recordWrite(call, changes, revision, err)
	for range random.IntN(40) {
		runtime.Gosched() // if commits do not block, watchers get no other chance to run
	}
	return !errors.Is(err, store.ErrClosed)
}

// change returns a random change of a key whose current object is found.
func (e *episode) change(key object.Key, found *object.Object, random *rand.Rand, mayBeNothing bool) robustness.Change {
	c := robustness.Change{Key: string(key)}
	switch n := random.IntN(6); {
	case n == 0:
		c.Expect = new(uint64)
	case n < 4 && found != nil:
		at := uint64(found.Revision)
		c.Expect = &at
	}
	deletes := c.Expect == nil && mayBeNothing || c.Expect != nil && *c.Expect != 0
	if c.Deleted = deletes && random.IntN(3) == 0; !c.Deleted {
		c.Value = fmt.Sprintf("%s-%d", []string{"red", "blue"}[random.IntN(2)], e.clock.Add(1))
	}
	return c
}

// watch watches until the end, and stops and resumes at random. It calls began when its first watch has
// started, and stores in at the revision from which the next life resumes.
func (e *episode) watch(t *testing.T, s *store.Store, random *rand.Rand, at *watching, began func(),
	done <-chan struct{}) {
	once := sync.OnceFunc(began)
	defer once()
	for end := false; !end; {
		w, err := s.Watch(object.Key(at.where.Prefix), at.after, needs(at.where.Value)...)
		var compacted *store.CompactedError
		switch {
		case errors.As(err, &compacted):
			e.slow.Add(1)
			at.after = max(at.after, e.list(t, s, at.where, store.Latest()))
			continue
		case errors.Is(err, store.ErrClosed):
			return
		case err != nil:
			t.Errorf("the watch of %v after %d: %v", at.where, at.after, err)
			return
		}
		once()
		if at.lazy {
			<-done
		}
		end = e.follow(t, w, random, at, done)
	}
}

// needs returns the requirement of a watch of one color, or nil if colour is empty.
func needs(colour string) []store.Requirement {
	if colour == "" {
		return nil
	}
	return []store.Requirement{store.HasLabel("colour", colour)}
}

// follow records one watch, and reports whether it was the last.
func (e *episode) follow(t *testing.T, w *store.Watch, random *rand.Rand, at *watching,
	done <-chan struct{}) (end bool) {
	recorded := robustness.Watch{Where: at.where, After: uint64(at.after), Whole: true, Previous: true}
	defer func() {
		w.Stop()
		at.after = w.Revision()
		e.recordWatch(recorded)
	}()
	for random.IntN(30) > 0 {
		select {
		case <-w.Changed():
		case <-done:
			end = true
		}
		events, err := w.Take(1 + random.IntN(5))
		switch {
		case errors.Is(err, store.ErrSlow):
			return false
		case errors.Is(err, store.ErrClosed):
			return true
		case err != nil:
			t.Errorf("take: %v", err)
			return true
		case end && events == nil:
			recorded.Responses = append(recorded.Responses, robustness.Response{Bookmark: uint64(w.Revision())})
			return true
		}
		r := robustness.Response{Events: seenBy(at.where, events)}
		if random.IntN(2) == 0 {
			r.Bookmark = uint64(w.Revision())
		}
		recorded.Responses = append(recorded.Responses, r)
	}
	return false
}

// read lists random older and latest revisions until the end.
func (e *episode) read(t *testing.T, random *rand.Rand, done <-chan struct{}) {
	for range 200 {
		select {
		case <-done:
			return
		default:
		}
		s := e.stores[random.IntN(len(e.stores))]
		which := store.Latest()
		if oldest, current := s.Oldest(), s.Current(); random.IntN(2) == 0 {
			which = store.Exactly(oldest + object.Revision(random.Int64N(int64(current-oldest)+1)))
		}
		e.list(t, s, e.watching[random.IntN(len(e.watching))].where, which)
	}
}

// list records a list and returns its revision.
func (e *episode) list(t *testing.T, s *store.Store, where robustness.Where,
	which store.RevisionSelector) object.Revision {
	call := e.clock.Add(1)
	state, err := s.Snapshot(t.Context(), which)
	var compacted *store.CompactedError
	switch {
	case err == nil:
		e.recordList(where, call, which == store.Latest(), state)
		return state.Revision()
	case !errors.Is(err, store.ErrClosed) && !errors.As(err, &compacted):
		t.Errorf("snapshot: %v", err)
	}
	return 0
}
