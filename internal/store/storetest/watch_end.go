package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
)

func slowWatchFailsInsteadOfSkippingEvents(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{HistoryBytes: 4000})
	base := set(t, s, Key("a"), "0")
	slow, quick := watch(t, s, all, base), watch(t, s, all, base)
	for i := range 100 {
		set(t, s, Key("a"), fmt.Sprint(i))
		if got := take(t, quick, 10, base); len(got) != 1 {
			t.Fatalf("the watch that keeps up returned %v, want one event", got)
		}
	}
	if !woken(slow) {
		t.Error("the slow watch is not woken")
	}
	for range 2 {
		if events, err := slow.Take(10); !errors.Is(err, store.ErrSlow) || events != nil {
			t.Errorf("the slow watch returned %d events and %v, want ErrSlow", len(events), err)
		}
	}
	var compacted *store.CompactedError
	if _, err := s.Watch(all, base); !errors.As(err, &compacted) || compacted.Oldest != s.Oldest() {
		t.Errorf("a watch from a dropped revision: got %v, want a *CompactedError", err)
	}
}

// unrelatedEventsDoNotMakeWatchSlow checks that a watcher does not notice when events that do not concern it are
// dropped.
func unrelatedEventsDoNotMakeWatchSlow(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{HistoryBytes: 4000})
	base := set(t, s, Key("a"), "0")
	idle := watch(t, s, Key("a"), base)
	for i := range 100 {
		set(t, s, Key("busy"), fmt.Sprint(i))
	}
	set(t, s, Key("a"), "1")
	take(t, idle, 10, base)
	for i := range 100 {
		set(t, s, Key("busy"), fmt.Sprint(i))
	}
	if got := take(t, idle, 10, base); got != nil || idle.Revision() != s.Current() {
		t.Errorf("the idle watch returned %v at revision %d, want no events at %d", got, idle.Revision(), s.Current())
	}
}

func closeEndsWatchesAndRejectsCalls(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	w, snap := watch(t, s, all, base), snapshot(t, s, store.Latest())
	wait := w.Changed()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-wait
	_, take := w.Take(1)
	_, commit := s.Commit(t.Context(), Put(Key("a"), "2", store.Anything()))
	_, rewatch := s.Watch(all, base)
	_, later := s.Snapshot(t.Context(), store.AtLeast(base))
	for name, err := range map[string]error{"take": take, "commit": commit, "watch": rewatch, "snapshot": later} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: got %v, want ErrClosed", name, err)
		}
	}
	if Value(snap.Get(Key("a"))) != "1" {
		t.Error("a snapshot cannot be read after Close")
	}
}
