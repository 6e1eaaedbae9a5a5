package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// TestCommitWakesOnlyMatchingWatchers checks that new and previous states of an object wake exactly the
// watchers that select them.
func TestCommitWakesOnlyMatchingWatchers(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := object.Key("/maps/n/a")
	needs := map[string]need{
		"a=1": label("a", "1"), "a=2": label("a", "2"), "a in 2,3": label("a", "2", "3"), "a": label("a"),
		"b":  label("b"),
		"on": field("phase", "on"), "off": field("phase", "off"), "none": field("phase", ""),
	}
	for _, step := range []struct {
		change store.Change
		wakes  []string
	}{
		{shown(t, key, map[string]string{"a": "1"}, nil), []string{"a", "a=1", "none"}},
		{shown(t, key, map[string]string{"a": "2"}, map[string]string{"phase": "on"}),
			[]string{"a", "a in 2,3", "a=1", "a=2", "none", "on"}},
		{shown(t, key, nil, map[string]string{"phase": "on"}), []string{"a", "a in 2,3", "a=2", "on"}},
		{store.Change{Key: key}, []string{"on"}},
	} {
		waits := map[string]<-chan struct{}{}
		for name, n := range needs {
			w, err := s.Watch("/maps/", s.Current(), n.Requirement)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			waits[name] = w.Changed()
		}
		if _, err := s.Commit(t.Context(), step.change); err != nil {
			t.Fatal(err)
		}
		var woken []string
		for name, c := range waits {
			select {
			case <-c:
				woken = append(woken, name)
			default:
			}
		}
		if slices.Sort(woken); !slices.Equal(woken, step.wakes) {
			t.Errorf("woken watchers: got %v, want %v", woken, step.wakes)
		}
	}
}

// TestWatchUsesMostSelectiveRequirement checks that a watch is indexed by the requirement that the
// fewest events of the history meet.
func TestWatchUsesMostSelectiveRequirement(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set := func(i int) {
		t.Helper()
		labels := map[string]string{"app": "web", "shard": fmt.Sprint(i)}
		if _, err := s.Commit(t.Context(),
			shown(t, object.Key(fmt.Sprint("/maps/n/", i)), labels, map[string]string{"phase": "on"})); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		set(i)
	}
	w, err := s.Watch("/maps/", s.Current(), store.HasField("phase", "on"), store.HasLabel("app", "web"),
		store.HasLabel("shard", "3"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	wait := w.Changed()
	set(4)
	select {
	case <-wait:
		t.Error("the watch was woken by an event of shard 4")
	default:
	}
	set(3)
	<-wait
}

// TestOnlyMatchingEventsMakeWatcherSlow checks that a watcher does not notice when events that do not concern it
// are dropped, and fails with ErrSlow once an event that does is dropped.
func TestOnlyMatchingEventsMakeWatcherSlow(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{HistoryBytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Watch("/maps/", s.Current(), store.HasLabel("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	overrun := func(value string) {
		t.Helper()
		for range 100 {
			if _, err := s.Commit(t.Context(),
				shown(t, "/maps/n/"+object.Key(value), map[string]string{"a": value}, nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	overrun("2")
	if events, err := w.Take(10); err != nil || len(events) > 0 || w.Revision() != s.Current() {
		t.Errorf("after unrelated events: got %d events and %v, at %d, want %d", len(events), err,
			w.Revision(), s.Current())
	}
	overrun("1")
	if _, err := w.Take(10); !errors.Is(err, store.ErrSlow) {
		t.Errorf("after its events were dropped: got %v", err)
	}
}
