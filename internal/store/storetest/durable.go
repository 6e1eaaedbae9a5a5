package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Reopen opens a log on the medium of a test, which is initially empty.
type Reopen func() log.Log

// RunDurable tests the contract of logs that outlive their process. Each call of medium returns a new medium.
func RunDurable(t *testing.T, medium func(t *testing.T) Reopen) {
	for name, test := range map[string]func(t *testing.T, open Reopen){
		"StateSurvivesReopening":                 stateSurvivesReopening,
		"GuaranteesHoldAcrossReopening":          guaranteesHoldAcrossReopening,
		"HistorySurvivesReopening":               historySurvivesReopening,
		"RevisionsIncreaseAcrossReopening":       revisionsIncreaseAcrossReopening,
		"HistoryIsBoundedByBytesAcrossReopening": historyIsBoundedByBytesAcrossReopening,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, medium(t))
		})
	}
	t.Run("HistoryIsBoundedByAgeAcrossReopening", func(t *testing.T) {
		t.Parallel()
		open := medium(t)
		synctest.Test(t, func(t *testing.T) { historyIsBoundedByAgeAcrossReopening(t, open) })
	})
}

// reopened closes a store and opens the next one on its medium.
func reopened(t *testing.T, s *store.Store, open Reopen, options store.Options) *store.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return start(t, open(), options)
}

func historySurvivesReopening(t *testing.T, open Reopen) {
	s := start(t, open(), store.Options{})
	set(t, s, Key("old"), "0")
	base := set(t, s, Key("a"), "1")
	set(t, s, Key("a"), "2")
	commit(t, s, Put(Key("b"), "1", store.Absent()), Put(Key("a"), "3", store.Anything()),
		Delete(Key("old"), store.Anything()))
	commit(t, s, Delete(Key("a"), store.Anything()))
	set(t, s, Key("a"), "4")
	want := fmt.Sprint(history(t, s, base))
	for range 2 {
		s = reopened(t, s, open, store.Options{})
		if got := fmt.Sprint(history(t, s, base)); got != want {
			t.Errorf("a watch that resumes after reopening: got\n%s\nwant\n%s", got, want)
		}
		for revision, want := range map[object.Revision]string{
			0: "[a=1@0 old=0@-1]", 1: "[a=2@1 old=0@-1]", 2: "[a=3@2 b=1@2]", 3: "[b=1@2]", 4: "[a=4@4 b=1@2]",
		} {
			if got := relative(snapshot(t, s, store.Exactly(base+revision)), base); got != want {
				t.Errorf("the state at revision %d after reopening: got %s, want %s", revision, got, want)
			}
		}
	}
}

// history returns all changes after base, with the previous values.
func history(t *testing.T, s *store.Store, base object.Revision) (lines []string) {
	t.Helper()
	events, err := watch(t, s, all, base).Take(1 << 20)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s=%s@%d was %q", e.Type(), e.Key().Name(), Value(e.Object),
			e.Revision()-base, Value(e.Previous)))
	}
	return lines
}

// relative formats the contents of a snapshot, with revisions relative to base, which may be negative.
func relative(snapshot *store.Snapshot, base object.Revision) string {
	var lines []string
	snapshot.Scan(all, "", func(o *object.Object) bool {
		lines = append(lines, fmt.Sprintf("%s=%s@%d", o.Key.Name(), Value(o), int64(o.Revision)-int64(base)))
		return true
	})
	return fmt.Sprint(lines)
}

// revisionsIncreaseAcrossReopening retains no history, so that everything is compacted, and finally deletes
// all objects.
func revisionsIncreaseAcrossReopening(t *testing.T, open Reopen) {
	options := store.Options{HistoryAge: 1, HistoryBytes: 1}
	s := start(t, open(), options)
	last := s.Current()
	for range 5 {
		for i := range 300 {
			if revision := set(t, s, Key(fmt.Sprint(i%3)), "1"); revision != last+1 {
				t.Fatalf("got revision %d after %d", revision, last)
			}
			last++
		}
		last = commit(t, s, Delete(Key("0"), store.Anything()), Delete(Key("1"), store.Anything()),
			Delete(Key("2"), store.Anything()))
		s = reopened(t, s, open, options)
		if got := contents(snapshot(t, s, store.Latest()), all, last); s.Current() != last || len(got) != 0 {
			t.Fatalf("the reopened store is at revision %d with %v, want %d without objects", s.Current(), got, last)
		}
	}
}

func historyIsBoundedByBytesAcrossReopening(t *testing.T, open Reopen) {
	s := start(t, open(), store.Options{})
	base := s.Current()
	for i := range 50 {
		set(t, s, Key("a"), fmt.Sprint(i))
	}
	s = reopened(t, s, open, store.Options{HistoryBytes: 10 * s.Get(Key("a")).Size()})
	if oldest := s.Oldest(); oldest < base+39 || oldest > base+45 {
		t.Errorf("the history has the last %d of 50 changes, want 5 to 11", base+50-oldest)
	}
	if got := fmt.Sprint(history(t, s, base+48)); got != `[MODIFIED a=48@1 was "47" MODIFIED a=49@2 was "48"]` {
		t.Errorf("got the history %v", got)
	}
}

// historyIsBoundedByAgeAcrossReopening runs in a bubble and advances its clock.
func historyIsBoundedByAgeAcrossReopening(t *testing.T, open Reopen) {
	s := start(t, open(), store.Options{})
	base := set(t, s, Key("a"), "1")
	set(t, s, Key("a"), "2")
	time.Sleep(4 * time.Minute)
	set(t, s, Key("a"), "3")
	s = reopened(t, s, open, store.Options{})
	if oldest := s.Oldest(); oldest > base {
		t.Errorf("after 4 minutes the history begins at change %d, want 0", oldest-base)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
	s = start(t, open(), store.Options{})
	if oldest := s.Oldest(); oldest != base+1 {
		t.Errorf("after 6 minutes the history begins at change %d, want 1", oldest-base)
	}
	if got := fmt.Sprint(history(t, s, base+1)); got != `[MODIFIED a=3@1 was "2"]` {
		t.Errorf("got the history %s", got)
	}
}

func stateSurvivesReopening(t *testing.T, open Reopen) {
	first := start(t, open(), store.Options{})
	base := first.Current()
	for i := range 50 {
		set(t, first, Key(fmt.Sprint(i)), fmt.Sprint(i))
	}
	commit(t, first, Delete(Key("7"), store.Anything()), Put(Key("8"), "again", store.Anything()))
	want := contents(snapshot(t, first, store.Latest()), all, base)
	last := first.Current()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := start(t, open(), store.Options{})
	if got := contents(snapshot(t, second, store.Latest()), all, base); !slices.Equal(got, want) ||
		second.Current() != last {
		t.Errorf("the reopened store: got, at revision %d,\n%v\nwant, at %d,\n%v", second.Current(), got, last, want)
	}
	var compacted *store.CompactedError
	if _, err := second.Watch(all, base); second.Oldest() > base && !errors.As(err, &compacted) {
		t.Errorf("a watch from before the history: got %v, want a *CompactedError", err)
	}
	w := watch(t, second, all, last)
	commit(t, second, Put(Key("8"), "2", store.At(last)))
	if got := fmt.Sprint(take(t, w, 10, last)); got != "[MODIFIED 8=2@1]" {
		t.Errorf("the watch of the reopened store returned %s", got)
	}
}

// RunShared tests the contract of logs with several writing stores. Each call of medium returns a new medium.
func RunShared(t *testing.T, medium func(t *testing.T) Reopen) {
	for name, test := range map[string]func(t *testing.T, a, b *store.Store){
		"LatestReadIncludesCommitsOfOtherStore": latestReadIncludesCommitsOfOtherStore,
		"IncrementsOfTwoStoresAreNotLost":       incrementsOfTwoStoresAreNotLost,
		"WatchesOfTwoStoresSeeSameOrder":        watchesOfTwoStoresSeeSameOrder,
		"TwoStoresAreLinearizable":              twoStoresAreLinearizable,
		"PreconditionsHoldAcrossTwoStores":      preconditionsHoldAcrossTwoStores,
		"DeletionIsVisibleInOtherStore":         deletionIsVisibleInOtherStore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := medium(t)
			test(t, start(t, open(), store.Options{}), start(t, open(), store.Options{}))
		})
	}
	t.Run("GuaranteesHoldForTwoStores", func(t *testing.T) {
		t.Parallel()
		guaranteesHoldForTwoStores(t, medium(t))
	})
}

func latestReadIncludesCommitsOfOtherStore(t *testing.T, a, b *store.Store) {
	for i := range 100 {
		revision := set(t, a, Key("a"), fmt.Sprint(i))
		got := snapshot(t, b, store.Latest())
		if got.Revision() < revision || Value(got.Get(Key("a"))) != fmt.Sprint(i) {
			t.Fatalf("after revision %d of one store, the other reads %s at %d", revision, Value(got.Get(Key("a"))),
				got.Revision())
		}
		a, b = b, a
	}
}

func incrementsOfTwoStoresAreNotLost(t *testing.T, a, b *store.Store) {
	const writers, increments = 6, 20
	concurrently(writers, func(writer int) {
		s := []*store.Store{a, b}[writer%2]
		for range increments {
			if err := increment(t, s, Key("counter")); err != nil {
				t.Error(err)
			}
		}
	})
	for _, s := range []*store.Store{a, b} {
		if got := Value(snapshot(t, s, store.Latest()).Get(Key("counter"))); got != fmt.Sprint(writers*increments) {
			t.Errorf("after %d increments the counter is %s", writers*increments, got)
		}
	}
}

func watchesOfTwoStoresSeeSameOrder(t *testing.T, a, b *store.Store) {
	base := snapshot(t, a, store.Latest()).Revision()
	const commits = 50
	seen := make(chan []object.Revision)
	for _, s := range []*store.Store{a, b} {
		w := watch(t, s, all, base)
		go func() { seen <- collect(t, w, 2*commits) }()
	}
	concurrently(2, func(writer int) {
		for i := range commits {
			set(t, []*store.Store{a, b}[writer], Key(fmt.Sprint(writer, i)), "1")
		}
	})
	first, second := <-seen, <-seen
	if !slices.Equal(first, second) || !slices.IsSorted(first) || first[0] != base+1 ||
		first[2*commits-1] != base+2*commits {
		t.Errorf("the watches of the two stores differ, or lack revisions:\n%v\nand\n%v", first, second)
	}
}

func twoStoresAreLinearizable(t *testing.T, a, b *store.Store) {
	linearizable(t, a.Current(), []*store.Store{a, b}, false)
}

func preconditionsHoldAcrossTwoStores(t *testing.T, a, b *store.Store) {
	revision := set(t, a, Key("a"), "1")
	var conflict *store.ConflictError
	if _, err := b.Commit(t.Context(), Put(Key("a"), "2", store.Absent())); !errors.As(err, &conflict) ||
		conflict.Actual.Revision != revision {
		t.Errorf("creating an object that the other store has created: got %v, want a conflict", err)
	}
	if got := commit(t, b, Put(Key("a"), "2", store.At(revision))); got != revision+1 {
		t.Errorf("the update of the other store has revision %d, want %d", got, revision+1)
	}
}

func deletionIsVisibleInOtherStore(t *testing.T, a, b *store.Store) {
	base := set(t, a, Key("a"), "1")
	snapshot(t, b, store.Latest())
	commit(t, b, Delete(Key("a"), store.At(base)))
	if got := snapshot(t, a, store.Latest()); got.Get(Key("a")) != nil {
		t.Errorf("the object deleted by the other store is %s, want no object", Value(got.Get(Key("a"))))
	}
	if got := fmt.Sprint(tail(t, a, all, base)); got != "[DELETED a=1@1]" {
		t.Errorf("got events %s, want the deletion by the other store", got)
	}
}
