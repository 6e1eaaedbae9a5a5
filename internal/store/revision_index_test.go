package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestOlderStatesAreUnchanged takes a snapshot of every revision while it is the newest, and compares each
// with the same revision read later. One key changes in every commit; others are deleted and recreated.
func TestOlderStatesAreUnchanged(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var states []*store.Snapshot
	for i := range 600 {
		changes := []store.Change{put("busy", fmt.Sprint(i), store.Anything())}
		name := fmt.Sprintf("n%02d", i*7%40)
		if i%3 == 0 {
			changes = append(changes, store.Change{Key: storetest.Key(name)})
		} else {
			changes = append(changes, put(name, fmt.Sprint(i), store.Anything()))
		}
		if _, err := s.Commit(t.Context(), changes...); err != nil {
			t.Fatal(err)
		}
		state, err := s.Snapshot(t.Context(), store.Latest())
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	for _, want := range states {
		got, err := s.Snapshot(t.Context(), store.Exactly(want.Revision()))
		if err != nil {
			t.Fatal(err)
		}
		assertSame(t, got, want)
	}
}

// assertSame compares two snapshots through every read method.
func assertSame(t *testing.T, got, want *store.Snapshot) {
	t.Helper()
	prefix := object.Prefix(configMaps, "")
	for _, from := range []object.Key{"", storetest.Key("busy"), storetest.Key("n17"), storetest.Key("n17x"),
		storetest.Key("z")} {
		if a, b := scan(got, prefix, from), scan(want, prefix, from); !slices.Equal(a, b) {
			t.Fatalf("from %q revision %d has %d objects, and had %d", from, want.Revision(), len(a), len(b))
		}
		if a, b := got.Remaining(prefix, from), want.Len(prefix, from); a != b {
			t.Fatalf("from %q revision %d has %d remaining, not %d", from, want.Revision(), a, b)
		}
	}
	for _, name := range []string{"busy", "n17", "n18", "absent"} {
		key := storetest.Key(name)
		if a, b := got.Get(key), want.Get(key); a != b {
			t.Fatalf("revision %d has %v at %s, and had %v", want.Revision(), a, key, b)
		}
		if a, b := scan(got, key, ""), scan(want, key, ""); !slices.Equal(a, b) {
			t.Fatalf("a scan of %s alone has %d objects at revision %d, and had %d", key, len(a), want.Revision(),
				len(b))
		}
	}
	if got.Size() != want.Size() || !slices.Equal(slices.Collect(got.All()), slices.Collect(want.All())) {
		t.Fatalf("revision %d has %d objects in all, and had %d", want.Revision(), got.Size(), want.Size())
	}
}

func scan(s *store.Snapshot, prefix, from object.Key) (objects []*object.Object) {
	s.Scan(prefix, from, func(o *object.Object) bool {
		objects = append(objects, o)
		return true
	})
	return objects
}

// TestRemainingOfOlderStateIsEstimated checks the estimate that is used if counting would take longer than
// the page: it is never 0, and close if little has changed.
func TestRemainingOfOlderStateIsEstimated(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3000 {
		set(t, s, name(i), "1")
	}
	before := s.Current()
	for i := range 2500 {
		if _, err := s.Commit(t.Context(), store.Change{Key: storetest.Key(name(i))}); err != nil {
			t.Fatal(err)
		}
	}
	old, err := s.Snapshot(t.Context(), store.Exactly(before))
	if err != nil {
		t.Fatal(err)
	}
	prefix := object.Prefix(configMaps, "")
	if n := old.Len(prefix, ""); n != 3000 {
		t.Errorf("the older state has %d objects, not 3000", n)
	}
	if n := old.Remaining(prefix, ""); n != 1000 {
		t.Errorf("3,000 objects, of which 500 are left, are estimated at %d, not at what was counted, 1000", n)
	}
	if n := old.Remaining(prefix, storetest.Key(name(2700))); n != 300 {
		t.Errorf("got %d of the last 300 objects", n)
	}
}
