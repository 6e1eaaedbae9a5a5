package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

func eachCommitHasOneRevision(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	first := commit(t, s, Put(Key("a"), "1", store.Absent()))
	second := commit(t, s, Put(Key("b"), "1", store.Absent()), Put(Key("c"), "1", store.Absent()),
		Delete(Key("a"), store.At(first)))
	if first != base+1 || second != base+2 || s.Current() != second {
		t.Errorf("the commits after revision %d have revisions %d and %d, and Current is %d", base, first, second,
			s.Current())
	}
	for _, name := range []string{"b", "c"} {
		o := s.Get(Key(name))
		if o == nil || o.Revision != second ||
			!bytes.Contains(encoded(o), []byte(`"resourceVersion":"`+second.String()+`"`)) {
			t.Errorf("%s: got %v, want revision %d in its header and bytes", name, o, second)
		}
	}
	if o := s.Get(Key("a")); o != nil {
		t.Errorf("after its deletion a is %s, want no object", Value(o))
	}
}

func failedCommitChangesNothing(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("taken"), "1")
	_, err := s.Commit(t.Context(),
		Put(Key("free"), "1", store.Absent()), Put(Key("taken"), "2", store.Absent()),
		Delete(Key("taken2"), store.Anything()))
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != Key("taken") || Value(conflict.Actual) != "1" {
		t.Fatalf("Commit returned %v, want a conflict with taken=1", err)
	}
	if got := contents(snapshot(t, s, store.Latest()), all, base); fmt.Sprint(got) != "[taken=1@0]" {
		t.Errorf("after a failed commit the store has %v, want only taken=1", got)
	}
}

func preconditionsAreChecked(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	old := set(t, s, Key("there"), "1")
	now := set(t, s, Key("there"), "2")
	for _, test := range []struct {
		name   string
		key    object.Key
		expect store.Expect
		holds  bool
	}{
		{"anything of what is there", Key("there"), store.Anything(), true},
		{"anything of what is not", Key("gone"), store.Anything(), true},
		{"absent of what is there", Key("there"), store.Absent(), false},
		{"absent of what is not", Key("gone"), store.Absent(), true},
		{"its revision", Key("there"), store.At(now), true},
		{"an older revision", Key("there"), store.At(old), false},
		{"a later revision", Key("there"), store.At(now + 1000), false},
		{"a revision of an absent key", Key("gone"), store.At(now), false},
	} {
		// The other change always fails, which leaves the state unchanged. The key named in the conflict
		// shows whether this precondition held.
		_, err := s.Commit(t.Context(), Put(test.key, "3", test.expect), Put(Key("other"), "1", store.At(1)))
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			t.Errorf("%s: Commit returned %v, want a conflict", test.name, err)
		} else if failed := conflict.Key == test.key; failed == test.holds {
			t.Errorf("%s: want holds %t, got the conflict %v", test.name, test.holds, conflict)
		}
	}
}

func deletingAbsentKeyCommitsNothing(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	if revision := commit(t, s, Delete(Key("gone"), store.Anything())); revision != base || s.Current() != base {
		t.Errorf("deleting an absent key returned revision %d, and Current is %d, want %d for both", revision,
			s.Current(),
			base)
	}
	commit(t, s, Delete(Key("gone"), store.Anything()), Put(Key("b"), "1", store.Absent()))
	if got := fmt.Sprint(tail(t, s, all, base)); got != "[ADDED b=1@1]" {
		t.Errorf("got events %s", got)
	}
	var conflict *store.ConflictError
	if _, err := s.Commit(t.Context(), Delete(Key("gone"), store.At(base))); !errors.As(err, &conflict) ||
		conflict.Actual != nil {
		t.Errorf("deleting an absent key that is expected at a revision returned %v, want a conflict", err)
	}
}

func unchangedKeyIsOnlyChecked(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("space"), "1")
	unchanged := store.Change{Key: Key("space"), Expect: store.At(base), Unchanged: true}
	if revision := commit(t, s, unchanged); revision != base {
		t.Errorf("a commit that changes nothing returned revision %d, want %d", revision, base)
	}
	commit(t, s, unchanged, Put(Key("in"), "1", store.Absent()))
	if got := fmt.Sprint(tail(t, s, all, base)); got != "[ADDED in=1@1]" {
		t.Errorf("got events %s", got)
	}
	set(t, s, Key("space"), "2")
	var conflict *store.ConflictError
	_, err := s.Commit(t.Context(), Put(Key("late"), "1", store.Absent()), unchanged)
	if !errors.As(err, &conflict) || Value(conflict.Actual) != "2" {
		t.Errorf("a commit that expects the old revision of an unchanged key returned %v, want a conflict", err)
	}
	if s.Get(Key("late")) != nil {
		t.Error("a change of the rejected commit was applied")
	}
}

func commitRejectsInvalidChanges(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	for name, changes := range map[string][]store.Change{
		"no key":                      {{Object: NewObject(Key("b"), "1")}},
		"the same key twice":          {Put(Key("b"), "1", store.Anything()), Delete(Key("b"), store.Anything())},
		"an object of another key":    {{Key: Key("b"), Object: NewObject(Key("c"), "1")}},
		"an object that is committed": {{Key: Key("a"), Object: s.Get(Key("a"))}},
		"an object and Unchanged":     {{Key: Key("b"), Object: NewObject(Key("b"), "1"), Unchanged: true}},
		"an object and Derive":        {{Key: Key("b"), Object: NewObject(Key("b"), "1"), Derive: plusOne(9)}},
		"a derived object of another key": {{Key: Key("b"), Derive: func(*object.Object) (*object.Object, error) {
			return NewObject(Key("c"), "1"), nil
		}}},
		"a derived object that is committed": {{Key: Key("a"), Derive: func(newest *object.Object) (*object.Object, error) {
			return newest, nil
		}}},
	} {
		if _, err := s.Commit(t.Context(), changes...); err == nil {
			t.Errorf("a commit with %s was accepted", name)
		}
	}
	if s.Current() != base {
		t.Errorf("after rejected commits Current is %d, want %d", s.Current(), base)
	}
}

func objectOfFailedCommitIsReusable(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := set(t, s, Key("a"), "1")
	change := Put(Key("a"), "2", store.Absent())
	if _, err := s.Commit(t.Context(), change); err == nil {
		t.Fatal("the commit did not fail")
	}
	change.Expect = store.At(base)
	if revision := commit(t, s, change); s.Get(Key("a")).Revision != revision || Value(s.Get(Key("a"))) != "2" {
		t.Errorf("after the second try a is %s at revision %d, want 2 at %d", Value(s.Get(Key("a"))),
			s.Get(Key("a")).Revision, revision)
	}
}

// claimHasOneWinner allocates unique values as the server does: by committing a claim object with the object
// that uses it.
func claimHasOneWinner(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	const writers, addresses = 8, 5
	var won atomic.Int32
	concurrently(writers, func(writer int) {
		for address := range addresses {
			name := fmt.Sprintf("service-%d-%d", writer, address)
			claim := object.KeyOf(networks, "", fmt.Sprintf("10.0.0.%d", address))
			_, err := s.Commit(t.Context(), Put(Key(name), "", store.Absent()), Put(claim, name, store.Absent()))
			var conflict *store.ConflictError
			switch {
			case err == nil:
				won.Add(1)
			case !errors.As(err, &conflict) || conflict.Key != claim || conflict.Actual == nil:
				t.Errorf("%s: Commit returned %v, want a conflict with %s", name, err, claim)
			}
		}
	})
	state := snapshot(t, s, store.Latest())
	if won.Load() != addresses || state.Len(all, "") != addresses {
		t.Errorf("for %d addresses %d commits succeeded and %d services exist", addresses, won.Load(),
			state.Len(all, ""))
	}
	state.Scan(object.Prefix(networks, ""), "", func(claim *object.Object) bool {
		if s.Get(Key(Value(claim))) == nil {
			t.Errorf("%s is claimed by %s, which does not exist", claim.Key.Name(), Value(claim))
		}
		return true
	})
}

func concurrentIncrementsAreNotLost(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	const writers, increments = 8, 25
	concurrently(writers, func(int) {
		for range increments {
			if err := increment(t, s, Key("counter")); err != nil {
				t.Error(err)
			}
		}
	})
	if got := Value(s.Get(Key("counter"))); got != strconv.Itoa(writers*increments) {
		t.Errorf("after %d increments the counter is %s", writers*increments, got)
	}
}

// errLimit is the error of a counter that would exceed its limit.
var errLimit = errors.New("the limit is reached")

// plusOne returns a Derive that adds one to a counter, up to a limit.
func plusOne(limit int) func(*object.Object) (*object.Object, error) {
	return func(newest *object.Object) (*object.Object, error) {
		value := 0
		if newest != nil {
			_, value = seen(newest)
		}
		if value == limit {
			return nil, errLimit
		}
		return NewObject(Key("counter"), strconv.Itoa(value+1)), nil
	}
}

// Writers that each commit an object of their own and add one to a common counter succeed exactly as often as its limit
// permits, without conflicts, and the counter is right at each revision.
func derivedStateIsExact(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	base := s.Current()
	const writers, each, limit = 16, 20, 200
	var accepted atomic.Int64
	concurrently(writers, func(writer int) {
		for i := range each {
			own := Put(Key(fmt.Sprintf("own-%d-%d", writer, i)), "1", store.Absent())
			_, err := s.Commit(t.Context(), own, store.Change{Key: Key("counter"), Derive: plusOne(limit)})
			switch {
			case err == nil:
				accepted.Add(1)
			case !errors.Is(err, errLimit):
				t.Error(err)
			}
		}
	})
	if accepted.Load() != limit || Value(s.Get(Key("counter"))) != strconv.Itoa(limit) {
		t.Errorf("%d commits were accepted and the counter is %s, want %d", accepted.Load(), Value(s.Get(Key("counter"))),
			limit)
	}
	for n := 1; n <= limit; n++ {
		snapshot, err := s.Snapshot(t.Context(), store.Exactly(base+object.Revision(n)))
		if err != nil {
			t.Fatal(err)
		}
		objects := 0
		snapshot.Scan(object.Prefix(Key("").GroupResource(), ""), "", func(*object.Object) bool {
			objects++
			return true
		})
		if got := Value(snapshot.Get(Key("counter"))); got != strconv.Itoa(n) || objects != n+1 {
			t.Fatalf("after %d commits: counter %s, %d other objects; want both %d", n, got, objects-1, n)
		}
	}
}

// A Derive that returns no state leaves the key, and the rest of the commit is applied.
func derivedNothingLeavesKey(t *testing.T, start func(store.Options) *store.Store) {
	s := start(store.Options{})
	before := set(t, s, Key("a"), "1")
	for _, key := range []object.Key{Key("a"), Key("absent")} {
		commit(t, s, Put(Key("b"), "1", store.Anything()), store.Change{Key: key,
			Derive: func(*object.Object) (*object.Object, error) { return nil, nil }})
	}
	if o := s.Get(Key("a")); o == nil || o.Revision != before || s.Get(Key("absent")) != nil || s.Get(Key("b")) == nil {
		t.Errorf("a is %v, absent %v, b %v", o, s.Get(Key("absent")), s.Get(Key("b")))
	}
}

// increment adds one to a counter, retrying on conflicts.
func increment(t *testing.T, s *store.Store, key object.Key) error {
	expect, value := store.Absent(), 0
	if o := s.Get(key); o != nil {
		expect, value = seen(o)
	}
	for {
		_, err := s.Commit(t.Context(), Put(key, strconv.Itoa(value+1), expect))
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		expect, value = seen(conflict.Actual)
	}
}

func seen(o *object.Object) (store.Expect, int) {
	value, err := strconv.Atoi(Value(o))
	if err != nil {
		panic(err) // writers store only numbers
	}
	return store.At(o.Revision), value
}

// concurrently runs n writers and waits for them.
func concurrently(n int, run func(writer int)) {
	var group sync.WaitGroup
	for writer := range n {
		group.Go(func() { run(writer) })
	}
	group.Wait()
}
