package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// watch starts a watch that is stopped at the end of the test.
func watch(t *testing.T, s *store.Store, prefix object.Key, after object.Revision) *store.Watch {
	t.Helper()
	w, err := s.Watch(prefix, after)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	t.Cleanup(w.Stop)
	return w
}

// take returns the available events, as TYPE name=value@revision with revisions relative to base.
func take(t *testing.T, w *store.Watch, limit int, base object.Revision) []string {
	t.Helper()
	events, err := w.Take(limit)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	var lines []string
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s=%s@%d", e.Type(), e.Key().Name(), Value(e.Object), e.Revision()-base))
	}
	return lines
}

// tail returns all events of a prefix after base.
func tail(t *testing.T, s *store.Store, prefix object.Key, base object.Revision) []string {
	t.Helper()
	return take(t, watch(t, s, prefix, base), 1<<20, base)
}

// woken reports whether the channel of a watch is closed.
func woken(w *store.Watch) bool {
	select {
	case <-w.Changed():
		return true
	default:
		return false
	}
}

func watchIsFiltered(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	set(t, s, Key("ab"), "2")
	set(t, s, object.KeyOf(configMaps, "default2", "a"), "3")
	set(t, s, object.KeyOf(networks, "default", "a"), "4")
	set(t, s, Key("a"), "5")
	for prefix, want := range map[object.Key]string{
		all:                         "[ADDED ab=2@1 ADDED a=3@2 MODIFIED a=5@4]",
		inDefault:                   "[ADDED ab=2@1 MODIFIED a=5@4]",
		Key("a"):                    "[MODIFIED a=5@4]",
		object.Prefix(networks, ""): "[ADDED a=4@3]",
		Key("missing"):              "[]",
	} {
		if got := fmt.Sprint(tail(t, s, prefix, base)); got != want {
			t.Errorf("watch of %s: got %s, want %s", prefix, got, want)
		}
	}
}

// watchIsOrderedUniqueAndReliable runs watchers and writers concurrently: each watcher receives every commit
// once and in order.
func watchIsOrderedUniqueAndReliable(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	const writers, commits = 4, 50
	done := make(chan []object.Revision)
	for range 5 {
		w := watch(t, s, inDefault, base)
		go func() { done <- collect(t, w, writers*commits) }()
	}
	concurrently(writers, func(writer int) {
		for i := range commits {
			set(t, s, Key(fmt.Sprint(writer, i%7)), "1")
			set(t, s, object.KeyOf(networks, "default", fmt.Sprint(writer)), "1")
		}
	})
	for range 5 {
		revisions := <-done
		if len(revisions) != writers*commits || !slices.IsSorted(revisions) ||
			len(slices.Compact(revisions)) != writers*commits {
			t.Errorf("a watcher received %d events of %d commits, or some twice or out of order: %v", len(revisions),
				writers*commits, revisions)
		}
	}
}

// collect takes n events as they arrive, and returns their revisions.
func collect(t *testing.T, w *store.Watch, n int) (revisions []object.Revision) {
	for len(revisions) < n {
		<-w.Changed()
		events, err := w.Take(3)
		if err != nil {
			t.Errorf("take: %v", err)
			return revisions
		}
		for _, e := range events {
			revisions = append(revisions, e.Revision())
		}
	}
	return revisions
}

func watchIsAtomic(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	w := watch(t, s, all, base)
	commit(t, s, Put(Key("b"), "1", store.Absent()), Put(Key("c"), "1", store.Absent()),
		Put(Key("a"), "2", store.At(base)))
	set(t, s, Key("d"), "1")
	if got := fmt.Sprint(take(t, w, 1, base)); got != "[ADDED b=1@1 ADDED c=1@1 MODIFIED a=2@1]" {
		t.Errorf("first events: got %s, want the three of one commit", got)
	}
	if w.Revision() != base+1 {
		t.Errorf("after the events of one commit the watch is at revision %d, want %d", w.Revision(), base+1)
	}
	if got := fmt.Sprint(take(t, w, 1, base)); got != "[ADDED d=1@2]" {
		t.Errorf("next events: got %s, want only that of d", got)
	}
}

func watchIsResumable(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	for i := range 40 {
		key := Key(fmt.Sprint(i % 5))
		if i%7 == 6 {
			commit(t, s, Delete(key, store.Anything()), Put(Key("also"), fmt.Sprint(i), store.Anything()))
		} else {
			set(t, s, key, fmt.Sprint(i))
		}
	}
	whole := tail(t, s, all, base)
	for limit := range 8 {
		first := watch(t, s, all, base)
		seen := take(t, first, limit, base)
		rest := take(t, watch(t, s, all, first.Revision()), 1000, base)
		if got := append(seen, rest...); !slices.Equal(got, whole) {
			t.Errorf("a watch that resumed after %d events: got\n%v\nwant\n%v", len(seen), got, whole)
		}
	}
}

func watchIsBookmarkable(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	w := watch(t, s, Key("a"), base)
	if w.Revision() != base {
		t.Errorf("a new watch is at revision %d, want %d", w.Revision(), base)
	}
	other := set(t, s, Key("b"), "1")
	last := set(t, s, object.KeyOf(networks, "default", "n"), "1")
	if got := take(t, w, 10, base); got != nil || w.Revision() != last {
		t.Errorf("after unrelated commits: got events %v at revision %d, want none at %d", got, w.Revision(), last)
	}
	changed := set(t, s, Key("a"), "2")
	if w.Revision() >= changed || w.Revision() < other {
		t.Errorf("before its event is taken the watch is at revision %d, want below %d", w.Revision(), changed)
	}
	if got := fmt.Sprint(take(t, w, 10, base)); got != "[MODIFIED a=2@3]" || w.Revision() != changed {
		t.Errorf("got events %s at revision %d, want a=2 at %d", got, w.Revision(), changed)
	}
}

func eventsHaveBothStates(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	set(t, s, Key("a"), "1")
	set(t, s, Key("a"), "2")
	deletion := commit(t, s, Delete(Key("a"), store.Anything()))
	set(t, s, Key("a"), "3")
	events, err := watch(t, s, all, base).Take(10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s>%s", e.Type(), Value(e.Previous), Value(e.Object)))
	}
	if want := "[ADDED >1 MODIFIED 1>2 DELETED 2>2 ADDED >3]"; fmt.Sprint(got) != want {
		t.Fatalf("got events %v, want %s", got, want)
	}
	if e := events[2]; e.Object.Revision != deletion || e.Previous.Revision != base+2 {
		t.Errorf("the deletion has revision %d and previous revision %d, want %d and %d", e.Object.Revision,
			e.Previous.Revision,
			deletion, base+2)
	}
}

func commitWakesOnlyMatchingWatches(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	resource, one, other := watch(t, s, all, base), watch(t, s, Key("a"), base), watch(t, s, Key("b"), base)
	if woken(resource) || woken(one) {
		t.Error("a watch was woken without an event")
	}
	wait := one.Changed()
	set(t, s, Key("a"), "2")
	<-wait
	if !woken(resource) || !woken(one) || woken(other) {
		t.Errorf("after a change of a, woken: the watch of the resource %t, of a %t, of b %t; want true, true, false",
			woken(resource), woken(one), woken(other))
	}
	take(t, one, 10, base)
	if woken(one) {
		t.Error("the watch is woken again after its events were taken")
	}
}

func watchRejectsUnavailableRevisions(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	var compacted *store.CompactedError
	if _, err := s.Watch(all, base-1); !errors.As(err, &compacted) || compacted.Oldest != base {
		t.Errorf("a watch from before the store was created: got %v, want a *CompactedError", err)
	}
	var future *store.FutureError
	if _, err := s.Watch(all, base+1); !errors.As(err, &future) || future.Current != base {
		t.Errorf("a watch from a future revision: got %v, want a *FutureError", err)
	}
}

// deletionEventShowsGivenState checks the event of a deletion with Change.Last, also when its commit is
// retried.
func deletionEventShowsGivenState(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	revision := set(t, s, Key("a"), "1")
	last := store.Change{Key: Key("a"), Last: NewObject(Key("a"), "why"), Expect: store.At(revision)}
	if _, err := s.Commit(t.Context(), last, Put(Key("b"), "1", store.At(1))); err == nil {
		t.Error("the commit succeeded although b is absent")
	}
	commit(t, s, last)
	if got, want := fmt.Sprint(tail(t, s, all, base)), "[ADDED a=1@1 DELETED a=why@2]"; got != want {
		t.Errorf("got events %s, want %s", got, want)
	}
	if o := s.Get(Key("a")); o != nil {
		t.Errorf("after its deletion a is %s, want no object", Value(o))
	}
	if got := contents(snapshot(t, s, store.Exactly(revision)), all, base); fmt.Sprint(got) != "[a=1@1]" {
		t.Errorf("the state before the deletion: got %v, want a=1", got)
	}
	both := Put(Key("c"), "1", store.Absent())
	both.Last = NewObject(Key("c"), "2")
	for _, invalid := range []store.Change{both, {Key: Key("c"), Last: NewObject(Key("d"), "1")}} {
		if _, err := s.Commit(t.Context(), invalid); err == nil {
			t.Errorf("the invalid change %+v was accepted", invalid)
		}
	}
}
