package storetest

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/robustness"
)

// episode runs clients of stores that share their state, and records them.
type episode struct {
	recorder
	seed   uint64
	stores []*store.Store
	// patient makes writers wait for each result, so that every outcome is known.
	patient bool
	// watching holds where each watcher resumes in the next life; slow counts how often one fell behind the
	// history.
	watching []watching
	slow     atomic.Int64
	lives    uint64
}

// watching is a watcher's selection and the revision after which it resumes. A lazy watcher reads nothing
// until all writes are done.
type watching struct {
	where robustness.Where
	after object.Revision
	lazy  bool
}

func newEpisode(t *testing.T) *episode { return &episode{seed: seed.Of(t)} }

// begin records the initial revision, and adds two watchers of each selection there.
func (e *episode) begin() {
	base := e.stores[0].Current()
	e.history.Base = uint64(base)
	for _, where := range []robustness.Where{
		{Prefix: string(all)}, {Prefix: string(object.Prefix(networks, ""))}, // these two select everything
		{Prefix: string(all), Value: "red"}, {Prefix: string(inDefault)}, {Prefix: string(inDefault), Value: "blue"},
		{Prefix: string(Key("1"))},
	} {
		e.watching = append(e.watching, watching{where: where, after: base}, watching{where: where, after: base})
	}
}

// run runs writers, watchers and a reader until each writer has made its writes. If stop is not nil, run
// calls it while they run, after half of the writes.
func (e *episode) run(t *testing.T, writers, writes int, stop func()) {
	e.lives++
	var writing, reading, watched sync.WaitGroup
	done := make(chan struct{})
	watched.Add(len(e.watching))
	for i := range e.watching {
		random, s := e.random(uint64(100+i)), e.stores[i%len(e.stores)]
		reading.Go(func() { e.watch(t, s, random, &e.watching[i], watched.Done, done) })
	}
	reading.Go(func() { e.read(t, e.random(1000), done) })
	watched.Wait()
	half := make(chan struct{})
	var made atomic.Int64
	for client := range writers {
		random, s := e.random(uint64(client)), e.stores[client%len(e.stores)]
		writing.Go(func() {
			for range writes {
				if made.Add(1) == int64(writers*writes/2) {
					close(half)
				}
				if !e.write(t.Context(), s, random) {
					return
				}
			}
		})
	}
	if stop != nil {
		<-half
		stop()
	}
	writing.Wait()
	for _, s := range e.stores { // all commits must be published before watchers are told to end
		if _, err := s.Snapshot(t.Context(), store.Latest()); err != nil && stop == nil {
			t.Errorf("snapshot: %v", err)
		}
	}
	close(done)
	reading.Wait()
}

// random returns a separate random source for each client in each life.
func (e *episode) random(client uint64) *rand.Rand {
	return rand.New(rand.NewPCG(e.seed, client<<32|e.lives))
}

// end lists everything once more and checks the history.
func (e *episode) end(t *testing.T) {
	for _, s := range e.stores {
		for _, prefix := range []object.Key{all, object.Prefix(networks, "")} {
			e.list(t, s, robustness.Where{Prefix: string(prefix)}, store.Latest())
		}
	}
	e.checkHistory(t)
}
