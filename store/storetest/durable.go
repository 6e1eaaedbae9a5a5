package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
	"github.com/bowline-dev/bowline/store/log"
)

// Reopen makes a log on the medium that all logs of one test share; before the first it is empty.
type Reopen func() log.Log

// RunDurable runs what holds for a log that outlives its process. Each call of medium makes a new one.
func RunDurable(t *testing.T, medium func(t *testing.T) Reopen) {
	t.Run("StateSurvivesReopening", func(t *testing.T) {
		t.Parallel()
		stateSurvivesReopening(t, medium(t))
	})
	t.Run("GuaranteesHoldOverReopening", func(t *testing.T) {
		t.Parallel()
		guaranteesHoldOverReopening(t, medium(t))
	})
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
	if got := contents(snapshot(t, second, store.Latest()), all, base); !slices.Equal(got, want) || second.Current() != last {
		t.Errorf("reopened at %d there is\n%v\nnot, at %d,\n%v", second.Current(), got, last, want)
	}
	var compacted *store.CompactedError
	if _, err := second.Watch(all, base); second.Oldest() > base && !errors.As(err, &compacted) {
		t.Errorf("a watch from before the history returned %v", err)
	}
	w := watch(t, second, all, last)
	commit(t, second, Put(Key("8"), "2", store.At(last)))
	if got := fmt.Sprint(take(t, w, 10, last)); got != "[MODIFIED 8=2@1]" {
		t.Errorf("after reopening the watch saw %s", got)
	}
}

// RunShared runs what holds for a log that several stores write to at once. Each call of medium makes a new one.
func RunShared(t *testing.T, medium func(t *testing.T) Reopen) {
	for name, test := range map[string]func(t *testing.T, a, b *store.Store){
		"LatestReadSeesTheOthersCommits":     latestReadSeesTheOthersCommits,
		"WritersOfTwoStoresLoseNothing":      writersOfTwoStoresLoseNothing,
		"WatchSeesTheOthersCommitsInOrder":   watchSeesTheOthersCommitsInOrder,
		"TwoStoresAreLinearizable":           twoStoresAreLinearizable,
		"ExpectationsHoldAcrossTwoStores":    expectationsHoldAcrossTwoStores,
		"DeletionByOneIsDeletionByTheOthers": deletionByOneIsDeletionByTheOthers,
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

func latestReadSeesTheOthersCommits(t *testing.T, a, b *store.Store) {
	for i := range 100 {
		revision := set(t, a, Key("a"), fmt.Sprint(i))
		got := snapshot(t, b, store.Latest())
		if got.Revision() < revision || Value(got.Get(Key("a"))) != fmt.Sprint(i) {
			t.Fatalf("after revision %d the other reads %s at %d", revision, Value(got.Get(Key("a"))), got.Revision())
		}
		a, b = b, a
	}
}

func writersOfTwoStoresLoseNothing(t *testing.T, a, b *store.Store) {
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
			t.Errorf("%d increments made %s", writers*increments, got)
		}
	}
}

func watchSeesTheOthersCommitsInOrder(t *testing.T, a, b *store.Store) {
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
	if !slices.Equal(first, second) || !slices.IsSorted(first) || first[0] != base+1 || first[2*commits-1] != base+2*commits {
		t.Errorf("the watchers saw\n%v\nand\n%v", first, second)
	}
}

func twoStoresAreLinearizable(t *testing.T, a, b *store.Store) {
	linearizable(t, a.Current(), []*store.Store{a, b}, false)
}

func expectationsHoldAcrossTwoStores(t *testing.T, a, b *store.Store) {
	revision := set(t, a, Key("a"), "1")
	var conflict *store.ConflictError
	if _, err := b.Commit(t.Context(), Put(Key("a"), "2", store.Absent())); !errors.As(err, &conflict) || conflict.Actual.Revision != revision {
		t.Errorf("creating what the other created returned %v", err)
	}
	if got := commit(t, b, Put(Key("a"), "2", store.At(revision))); got != revision+1 {
		t.Errorf("the update has revision %d after %d", got, revision)
	}
}

func deletionByOneIsDeletionByTheOthers(t *testing.T, a, b *store.Store) {
	base := set(t, a, Key("a"), "1")
	snapshot(t, b, store.Latest())
	commit(t, b, Delete(Key("a"), store.At(base)))
	if got := snapshot(t, a, store.Latest()); got.Get(Key("a")) != nil {
		t.Errorf("the other still has %s", Value(got.Get(Key("a"))))
	}
	if got := fmt.Sprint(tail(t, a, all, base)); got != "[DELETED a=1@1]" {
		t.Errorf("the other's watch saw %s", got)
	}
}
