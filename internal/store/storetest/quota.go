package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// checkUsage checks that a store, in which no commit is pending, counts exactly the bytes of its objects.
func checkUsage(t *testing.T, s *store.Store) {
	t.Helper()
	state, err := s.Snapshot(t.Context(), store.AtLeast(0))
	if err != nil {
		return // it is closed
	}
	want := int64(0)
	for o := range state.All() {
		want += int64(o.Size())
	}
	if got := s.Usage().Bytes; got != want {
		t.Errorf("the store counts %d bytes, and its objects have %d", got, want)
	}
}

// quotaRejectsGrowth fills a store whose quota has room for two objects of the same size.
func quotaRejectsGrowth(t *testing.T, start func(store.Options) *store.Store) {
	size := int64(Put(Key("a"), "1", store.Absent()).Object.Size())
	s := start(store.Options{Quota: store.Quota{Bytes: 2 * size}})
	set(t, s, Key("a"), "1")
	set(t, s, Key("b"), "1")
	before := s.Current()

	third := Put(Key("c"), "1", store.Absent())
	wantFull(t, s, store.QuotaError{Bytes: 2 * size, Adds: size, Max: 2 * size}, third)
	wantFull(t, s, store.QuotaError{Bytes: 2 * size, Adds: 1, Max: 2 * size}, Put(Key("a"), "11", store.Anything()))
	if s.Current() != before || s.Get(Key("c")) != nil || Value(s.Get(Key("a"))) != "1" {
		t.Error("a rejected commit changed the store")
	}
	if got := s.Usage(); got != (store.Usage{Bytes: 2 * size, Max: 2 * size, Rejected: 2}) || !got.Near() {
		t.Errorf("the usage is %+v", got)
	}

	set(t, s, Key("a"), "2")                                                       // adds nothing
	commit(t, s, Delete(Key("b"), store.Anything()), third)                        // nor does this
	set(t, s, Key("a"), "")                                                        // becomes smaller
	wantFull(t, s, store.QuotaError{Bytes: 2*size - 1, Adds: size, Max: 2 * size}, // larger than what is left
		Put(Key("d"), "1", store.Absent()))
	checkUsage(t, s)

	reserved := Put(Key("e"), "1", store.Absent())
	reserved.Quota = store.Reserved
	commit(t, s, reserved, Put(Key("f"), "1", store.Absent())) // the class of one change holds for the commit
	huge := Put(Key("g"), strings.Repeat("v", 1<<20), store.Absent())
	huge.Quota = store.Reserved
	wantFull(t, s, store.QuotaError{Bytes: 4*size - 1, Adds: size + 1<<20 - 1, Max: 2 * size}, huge)
	huge.Quota = store.Exempt
	commit(t, s, huge)
	checkUsage(t, s)

	fork, err := s.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	checkUsage(t, fork)
	if _, err := fork.Commit(t.Context(), Put(Key("d"), "1", store.Absent())); !errors.As(err, new(*store.QuotaError)) {
		t.Errorf("a commit to a fork of a full store returned %v", err)
	}
}

// wantFull checks that a commit is rejected by the quota.
func wantFull(t *testing.T, s *store.Store, want store.QuotaError, changes ...store.Change) {
	t.Helper()
	_, err := s.Commit(t.Context(), changes...)
	var full *store.QuotaError
	if !errors.As(err, &full) || *full != want {
		t.Errorf("Commit returned %v, want %v", err, &want)
	}
}

// namespaceQuotaRejectsGrowth fills one namespace, which affects no other.
func namespaceQuotaRejectsGrowth(t *testing.T, start func(store.Options) *store.Store) {
	in := func(namespace, name string) store.Change {
		return Put(object.KeyOf(Key("").GroupResource(), namespace, name), "1", store.Absent())
	}
	size := int64(in("full", "a").Object.Size())
	s := start(store.Options{Quota: store.Quota{NamespaceBytes: size}})
	commit(t, s, in("full", "a"))
	wantFull(t, s, store.QuotaError{Namespace: "full", Bytes: size, Adds: size, Max: size}, in("full", "b"))
	commit(t, s, in("free", "a"), in("", "cluster"))
	commit(t, s, in("", "cluster2"))
	commit(t, s, Delete(in("full", "a").Key, store.Anything()))
	commit(t, s, in("full", "b"))
	if got := s.Usage(); got.Rejected != 1 || got.Max != 0 || got.Near() {
		t.Errorf("the usage is %+v", got)
	}
	checkUsage(t, s)
}

// quotaHoldsForConcurrentCommits has writers compete for the room for a few objects. Exactly as many succeed.
func quotaHoldsForConcurrentCommits(t *testing.T, start func(store.Options) *store.Store) {
	const room, writers = 5, 8
	size := int64(Put(Key("w0"), "1", store.Absent()).Object.Size())
	s := start(store.Options{Quota: store.Quota{Bytes: room * size}})
	for round := range 20 {
		var group sync.WaitGroup
		results := make([]error, writers)
		for i := range writers {
			group.Go(func() {
				_, results[i] = s.Commit(t.Context(), Put(Key(fmt.Sprintf("w%d", i)), "1", store.Absent()))
			})
		}
		group.Wait()
		succeeded := 0
		for _, err := range results {
			if err == nil {
				succeeded++
			} else if !errors.As(err, new(*store.QuotaError)) {
				t.Errorf("Commit returned %v", err)
			}
		}
		if succeeded != room || s.Usage().Bytes != room*size {
			t.Fatalf("round %d: %d of %d writers found room for %d, and the usage is %+v", round, succeeded, writers,
				room, s.Usage())
		}
		for i := range writers {
			if results[i] == nil {
				commit(t, s, Delete(Key(fmt.Sprintf("w%d", i)), store.Anything()))
			}
		}
	}
}
