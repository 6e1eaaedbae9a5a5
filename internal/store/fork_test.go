package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

func fork(t testing.TB, s *store.Store) *store.Store {
	t.Helper()
	f, err := s.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func inMemory(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// values returns all objects in key order, each with its revision.
func values(t testing.TB, s *store.Store) (all []string) {
	t.Helper()
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	for o := range snapshot.All() {
		all = append(all, fmt.Sprintf("%s=%s@%d", o.Key.Name(), storetest.Value(o), o.Revision))
	}
	return all
}

func TestForkSharesItsObjects(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for i := range 100 {
		set(t, s, name(i), "1")
	}
	f := fork(t, s)
	if got, want := values(t, f), values(t, s); !slices.Equal(got, want) {
		t.Errorf("the fork has %v, not %v", got, want)
	}
	if key := storetest.Key(name(7)); f.Get(key) != s.Get(key) {
		t.Error("an object was copied")
	}
}

// TestForkRejectsRevisionsBeforeIt checks that the revisions of the original store are compacted in the fork.
func TestForkRejectsRevisionsBeforeIt(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	first := set(t, s, "a", "1")
	f := fork(t, s)
	set(t, s, "a", "2")
	if now := object.Revision(time.Now().UnixMicro()); f.Current() < s.Current()+1<<31 || f.Current() < now+1<<31 {
		t.Errorf("the fork starts at revision %d, and the store is at %d", f.Current(), s.Current())
	}
	for _, old := range []object.Revision{first, s.Current(), f.Current() - 1} {
		var compacted *store.CompactedError
		if _, err := f.Snapshot(t.Context(), store.Exactly(old)); !errors.As(err, &compacted) ||
			compacted.Oldest != f.Oldest() {
			t.Errorf("the state at %d: %v", old, err)
		}
		if _, err := f.Watch(storetest.Key("a"), old); !errors.As(err, &compacted) {
			t.Errorf("a watch after %d: %v", old, err)
		}
	}
	before := f.Current()
	if revision := set(t, f, "a", "3"); revision != before+1 || f.Oldest() != before {
		t.Errorf("after %d, the first commit is %d, and the oldest %d", before, revision, f.Oldest())
	}
	exactly, err := f.Snapshot(t.Context(), store.Exactly(before))
	if err != nil || storetest.Value(exactly.Get(storetest.Key("a"))) != "1" {
		t.Errorf("the snapshot at the forked revision: %v, %v", exactly, err)
	}
}

func TestForkAndStoreAreIndependent(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	s, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", "1")
	set(t, s, "b", "1")
	f := fork(t, s)
	watches := map[*store.Store]*store.Watch{}
	for _, side := range []*store.Store{s, f} {
		if watches[side], err = side.Watch(storetest.Key("a"), side.Current()); err != nil {
			t.Fatal(err)
		}
	}
	set(t, s, "a", "store")
	set(t, f, "a", "fork")
	commit(t, f, storetest.Delete(storetest.Key("b"), store.At(s.Get(storetest.Key("b")).Revision)))
	for side, want := range map[*store.Store]string{s: "store", f: "fork"} {
		events, err := watches[side].Take(10)
		if err != nil || len(events) != 1 || storetest.Value(events[0].Object) != want ||
			storetest.Value(events[0].Previous) != "1" {
			t.Errorf("%s: got events %v, %v", want, events, err)
		}
	}
	want := values(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	reopened, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Close()
	if got := values(t, reopened); len(got) != 2 || !slices.Equal(got, want) {
		t.Errorf("the log of the store has %v, not %v", got, want)
	}
}

// TestForksAreIndependent concurrently writes to a store, its forks and forks of those, while new ones are
// created. Each must contain exactly what was written to it.
func TestForksAreIndependent(t *testing.T) {
	t.Parallel()
	const objects, writes = 200, 500
	s := inMemory(t)
	initial := map[string]string{}
	for i := range objects {
		set(t, s, name(i), "0")
		initial[name(i)] = "0"
	}
	var group sync.WaitGroup
	var write func(s *store.Store, model map[string]string, depth int, random *rand.Rand)
	write = func(s *store.Store, model map[string]string, depth int, random *rand.Rand) {
		for n := range writes {
			key := name(random.IntN(objects))
			change := put(key, fmt.Sprint(depth, n), store.Anything())
			if model[key] = fmt.Sprint(depth, n); random.IntN(4) == 0 {
				delete(model, key)
				change = storetest.Delete(storetest.Key(key), store.Anything())
			}
			if _, err := s.Commit(t.Context(), change); err != nil {
				t.Error(err)
				return
			}
			if depth < 3 && n%200 == 100 {
				next, copied, random := fork(t, s), map[string]string{}, rand.New(rand.NewPCG(random.Uint64(), 0))
				for key, value := range model {
					copied[key] = value
				}
				group.Go(func() { write(next, copied, depth+1, random) })
			}
		}
		if got := len(values(t, s)); got != len(model) {
			t.Errorf("at depth %d there are %d objects, not %d", depth, got, len(model))
		}
		for key, want := range model {
			if got := storetest.Value(s.Get(storetest.Key(key))); got != want {
				t.Errorf("at depth %d, %s is %q, not %q", depth, key, got, want)
			}
		}
	}
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	group.Go(func() { write(s, initial, 0, random) })
	group.Wait()
}

// TestForksOfForksMayBeClosedInAnyOrder tries every order.
func TestForksOfForksMayBeClosedInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := inMemory(t)
		set(t, s, "a", "1")
		f := fork(t, s)
		set(t, f, "b", "1")
		all := []*store.Store{s, f, fork(t, f)}
		for n, i := range order {
			if err := all[i].Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := all[i].Fork(t.Context()); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a fork of a closed store: %v", err)
			}
			for _, j := range order[n+1:] {
				set(t, all[j], "a", fmt.Sprint(n, j))
				if got := storetest.Value(all[j].Get(storetest.Key("a"))); got != fmt.Sprint(n, j) {
					t.Errorf("with %v closed, a is %q in %d", order[:n+1], got, j)
				}
			}
		}
	}
}

func TestForkReportsDamage(t *testing.T) {
	t.Parallel()
	s := accepted(t, logsWithDamage(t, 2)["journal"])
	f := fork(t, s)
	key := storetest.Key("lost-0")
	var unreadable *store.UnreadableError
	if _, err := f.Commit(t.Context(), storetest.Put(key, "1", store.Anything())); !errors.As(err, &unreadable) {
		t.Errorf("a write to the key of a damaged object returned %v", err)
	}
	commit(t, f, storetest.Delete(key, store.Anything()))
	if len(f.Damaged()) != 1 || len(s.Damaged()) != 2 {
		t.Errorf("damaged objects are %v in the fork, and %v in the store", f.Damaged(), s.Damaged())
	}
}

// TestForkCostIsConstant counts allocations.
func TestForkCostIsConstant(t *testing.T) {
	s := inMemory(t)
	allocated := func() float64 {
		return testing.AllocsPerRun(10, func() { fork(t, s) })
	}
	set(t, s, name(0), "1")
	few := allocated()
	for i := range 5000 {
		set(t, s, name(i), "1")
	}
	if many := allocated(); many > few+5 {
		t.Errorf("a fork of 5,000 objects makes %v allocations, of one %v", many, few)
	}
}

func BenchmarkFork(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b)
			for i := range n {
				mustCommit(b, s, put(name(i), "1", store.Absent()))
			}
			b.ReportAllocs()
			for b.Loop() {
				f, err := s.Fork(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				mustCommit(b, f, put(name(n/2), "2", store.Anything())) // the first write copies the nodes on its path
				f.Close()
			}
		})
	}
}
