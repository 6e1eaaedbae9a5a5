package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

func snapshotNeverChanges(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	for i := range 200 {
		set(t, s, Key(fmt.Sprint(i)), "1")
	}
	before := snapshot(t, s, store.Latest())
	want := contents(before, all, base)
	concurrently(2, func(int) {
		for i := range 400 {
			commit(t, s, Delete(Key(fmt.Sprint(i%200)), store.Anything()),
				Put(Key(fmt.Sprint("new", i)), "2", store.Anything()))
			if i%50 == 0 && !slices.Equal(contents(before, all, base), want) {
				t.Error("the snapshot changed")
			}
		}
	})
	if before.Revision() != base+200 || before.Len(all, "") != 200 || before.Get(Key("new1")) != nil ||
		Value(before.Get(Key("7"))) != "1" {
		t.Errorf("the snapshot has changed: got revision %d with %d objects, want %d with 200", before.Revision(),
			before.Len(all, ""), base+200)
	}
}

// snapshotAtEveryRevision takes snapshots at random while committing, so that some roots are retained, and
// then reads every revision.
func snapshotAtEveryRevision(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	random := rand.New(rand.NewPCG(1, 2))
	states := [][]string{nil}
	for i := range 1500 {
		key := Key(fmt.Sprint(random.IntN(20)))
		if s.Get(key) != nil && random.IntN(3) == 0 {
			commit(t, s, Delete(key, store.Anything()))
		} else {
			set(t, s, key, fmt.Sprint(i))
		}
		state := store.Latest()
		if random.IntN(100) > 0 {
			state = store.Exactly(s.Current())
		}
		states = append(states, contents(snapshot(t, s, state), all, base))
	}
	for _, i := range random.Perm(len(states)) {
		revision := base + object.Revision(i)
		old := snapshot(t, s, store.Exactly(revision))
		if got := contents(old, all, base); old.Revision() != revision || !slices.Equal(got, states[i]) ||
			old.Len(all, "") != len(got) {
			t.Fatalf("revision %d: got\n%v\nwant\n%v", i, got, states[i])
		}
	}
}

func snapshotRejectsUnavailableRevisions(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	now := set(t, s, Key("a"), "1")
	if got := snapshot(t, s, store.AtLeast(base)); got.Revision() != now {
		t.Errorf("AtLeast(%d): got revision %d, want the newest, %d", base, got.Revision(), now)
	}
	if got := snapshot(t, s, store.AtLeast(0)); got.Revision() != now {
		t.Errorf("AtLeast(0): got revision %d, want the newest, %d", got.Revision(), now)
	}
	for _, which := range []store.RevisionSelector{store.AtLeast(now + 1), store.Exactly(now + 1)} {
		var future *store.FutureError
		if _, err := s.Snapshot(t.Context(), which); !errors.As(err, &future) || future.Current != now ||
			future.Requested != now+1 {
			t.Errorf("a snapshot of a future revision: got %v, want a *FutureError", err)
		}
	}
	var compacted *store.CompactedError
	if _, err := s.Snapshot(t.Context(), store.Exactly(base-1)); !errors.As(err, &compacted) ||
		compacted.Oldest != base {
		t.Errorf("a snapshot from before the store was created: got %v, want a *CompactedError", err)
	}
}

func scanIsOrderedWithinPrefix(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	for _, i := range rand.Perm(300) {
		set(t, s, Key(fmt.Sprintf("n%03d", i)), "1")
	}
	set(t, s, object.KeyOf(configMaps, "default2", "a"), "1")
	set(t, s, object.KeyOf(configMaps, "a", "a"), "1")
	set(t, s, object.KeyOf(networks, "", "a"), "1")
	state := snapshot(t, s, store.Latest())
	for prefix, want := range map[object.Key]int{
		all: 302, inDefault: 300, object.Prefix(configMaps, "default2"): 1, object.Prefix(configMaps, "none"): 0,
		object.Prefix(networks, ""): 1, Key("n007"): 1, Key("n00"): 0,
	} {
		for _, limit := range []int{want - 1, want, want + 1} {
			few, found, err := s.Few(t.Context(), prefix, limit)
			if err != nil || found != (limit >= want) || found && len(few) != want {
				t.Errorf("%s: Few(%d) returned %d objects, %t, %v; want %d", prefix, limit, len(few), found, err, want)
			}
		}
		if got := contents(state, prefix, base); len(got) != want || state.Len(prefix, "") != want ||
			state.Len(prefix, prefix+"\xff") != 0 {
			t.Errorf("%s: Scan yields %d objects and Len is %d, want %d", prefix, len(got), state.Len(prefix, ""), want)
		}
	}
	var names []string
	state.Scan(inDefault, Key("n1000"), func(o *object.Object) bool {
		names = append(names, o.Key.Name())
		return len(names) < 3
	})
	if fmt.Sprint(names) != "[n101 n102 n103]" {
		t.Errorf("the first three objects from n1000 on: got %v", names)
	}
	state.Scan(inDefault, object.KeyOf(configMaps, "a", "a"), func(o *object.Object) bool {
		names = append(names, o.Key.Name())
		return false
	})
	if names[3] != "n000" {
		t.Errorf("a scan from a key before its prefix begins with %s, want n000", names[3])
	}
}

func pagesOfOneRevisionAreConsistent(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	for i := range 100 {
		set(t, s, Key(fmt.Sprintf("n%03d", i)), "old")
	}
	first := snapshot(t, s, store.Latest())
	var got []string
	var from object.Key
	for page := 0; page < 10; page++ {
		snapshot(t, s, store.Exactly(first.Revision())).Scan(all, from, func(o *object.Object) bool {
			got = append(got, o.Key.Name()+Value(o))
			from = o.Key + "\x00"
			return len(got) < 10*(page+1)
		})
		for i := range 100 {
			commit(t, s, Put(Key(fmt.Sprintf("n%03d", i)), "new", store.Anything()),
				Put(Key(fmt.Sprint("n", page, i)), "new", store.Anything()))
		}
	}
	if len(got) != 100 || got[57] != "n057old" {
		t.Errorf("the pages have %d objects, want 100 of the first revision: %v", len(got), got)
	}
}

func historyIsBoundedByBytes(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{HistoryBytes: 20_000})
	base := s.Current()
	for i := range 500 {
		set(t, s, Key(fmt.Sprint(i%10)), fmt.Sprint(i))
	}
	oldest := s.Oldest()
	if retained := s.Current() - oldest; oldest <= base || retained < 10 || retained > 100 {
		t.Errorf("the history has %d of 500 commits, want 10 to 100", retained)
	}
	var compacted *store.CompactedError
	if _, err := s.Snapshot(t.Context(), store.Exactly(oldest-1)); !errors.As(err, &compacted) ||
		compacted.Oldest != oldest {
		t.Errorf("a snapshot of a dropped revision: got %v, want a *CompactedError", err)
	}
	if got := snapshot(t, s, store.Exactly(oldest)); got.Revision() != oldest || got.Len(all, "") != 10 {
		t.Errorf("the snapshot of the oldest revision, %d, is at %d with %d objects, want 10", oldest, got.Revision(),
			got.Len(all, ""))
	}
}
