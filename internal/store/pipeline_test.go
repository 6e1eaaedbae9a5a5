package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestQueuedCommitsFollowContract runs the contract suite through the queue, on a log that detects mistakes.
func TestQueuedCommitsFollowContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) log.Log { return &storetest.Faults{Log: memory.New()} })
}

var configMaps = storetest.Key("").GroupResource()

// withFaults runs a test in a bubble, on a store whose log can be blocked and made to fail.
func withFaults(t *testing.T, test func(t *testing.T, s *store.Store, faults *storetest.Faults)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := &storetest.Faults{Log: memory.New()}
		s, err := store.New(t.Context(), faults, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		test(t, s, faults)
	})
}

// outcome is the result of a concurrent commit.
type outcome struct {
	revision object.Revision
	err      error
	done     bool
}

// commitAsync starts a commit and returns when it is blocked or done.
func commitAsync(ctx context.Context, s *store.Store, changes ...store.Change) *outcome {
	o := new(outcome)
	go func() {
		o.revision, o.err = s.Commit(ctx, changes...)
		o.done = true
	}()
	synctest.Wait()
	return o
}

func put(name, value string, expect store.Expect) store.Change {
	return storetest.Put(storetest.Key(name), value, expect)
}

func TestReadsSeeOnlyDurableCommits(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		base := s.Current()
		w, err := s.Watch(object.Prefix(configMaps, ""), base)
		if err != nil {
			t.Fatal(err)
		}
		release := faults.Hold()
		create := commitAsync(t.Context(), s, put("a", "1", store.Absent()))

		state, err := s.Snapshot(t.Context(), store.Latest())
		if err != nil || state.Revision() != base || state.Get(storetest.Key("a")) != nil {
			t.Errorf("the snapshot includes the pending commit, or failed: %v", err)
		}
		if s.Get(storetest.Key("a")) != nil || s.Current() != base {
			t.Error("the pending commit is visible")
		}
		if events, err := w.Take(1); events != nil || err != nil {
			t.Errorf("got events %v, %v", events, err)
		}
		// Either of these responses would reveal the first commit.
		second := commitAsync(t.Context(), s, put("a", "2", store.Absent()))
		missing := commitAsync(t.Context(), s, put("b", "2", store.At(base)),
			storetest.Delete(storetest.Key("a"), store.Anything()))
		if create.done || second.done || missing.err == nil {
			t.Errorf("before the append: create %v, second create %v, conflict on another key %v", create, second,
				missing)
		}

		release()
		synctest.Wait()
		var conflict *store.ConflictError
		if create.err != nil || !errors.As(second.err, &conflict) || storetest.Value(conflict.Actual) != "1" {
			t.Errorf("the first create returned %v, the second %v", create.err, second.err)
		}
		if got := storetest.Value(s.Get(storetest.Key("a"))); got != "1" || s.Current() != create.revision {
			t.Errorf("got a=%q at revision %d, want revision %d", got, s.Current(), create.revision)
		}
	})
}

// The second writer builds on a pending commit. Its rejection must wait until that commit is durable, and is dropped if
// the append fails.
func TestDerivedErrorWaitsForPendingCommit(t *testing.T) {
	full := errors.New("full")
	first := func(newest *object.Object) (*object.Object, error) {
		if newest != nil {
			return nil, full
		}
		return storetest.NewObject(storetest.Key("counter"), "1"), nil
	}
	for name, fault := range map[string]error{"the append succeeds": nil, "the append fails": errors.New("no space left")} {
		t.Run(name, func(t *testing.T) {
			withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
				release := faults.Hold()
				faults.Fail(fault)
				change := store.Change{Key: storetest.Key("counter"), Derive: first}
				one, two := commitAsync(t.Context(), s, change), commitAsync(t.Context(), s, change)
				if one.done || two.done {
					t.Fatalf("before the append: %v, %v", one, two)
				}
				release()
				synctest.Wait()
				wantTwo := full
				if fault != nil {
					wantTwo = nil
				}
				if !errors.Is(one.err, fault) || !errors.Is(two.err, wantTwo) {
					t.Errorf("the first commit returned %v, the second %v", one.err, two.err)
				}
			})
		})
	}
}

func TestCommitsShareAppend(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		base := s.Current()
		release := faults.Hold()
		var writers []*outcome
		for i := range 10 {
			writers = append(writers, commitAsync(t.Context(), s, put("counter", fmt.Sprint(i), store.Anything())))
		}
		release()
		synctest.Wait()
		for i, w := range writers {
			if w.err != nil || w.revision != base+1+object.Revision(i) {
				t.Errorf("writer %d got revision %d, %v", i, w.revision-base, w.err)
			}
		}
		if got := fmt.Sprint(faults.Appends()); got != "[1 9]" {
			t.Errorf("got appends of %s commits, want [1 9]", got)
		}
		w, err := s.Watch(storetest.Key("counter"), base)
		if err != nil {
			t.Fatal(err)
		}
		if events, _ := w.Take(100); len(events) != 10 || storetest.Value(events[9].Previous) != "8" {
			t.Errorf("the watch returned %d events, want 10 in order", len(events))
		}
	})
}

func TestFailedAppendHasNoEffect(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		base := s.Current()
		release := faults.Hold()
		broken := errors.New("no space left")
		faults.Fail(broken)
		failed := commitAsync(t.Context(), s, put("a", "1", store.Absent()))
		built := commitAsync(t.Context(), s, put("a", "2", store.Anything()))
		conflicting := commitAsync(t.Context(), s, put("a", "3", store.Absent()))
		deleting := commitAsync(t.Context(), s, storetest.Delete(storetest.Key("b"), store.Anything()),
			put("c", "1", store.Anything()))
		release()
		synctest.Wait()

		if !errors.Is(failed.err, broken) {
			t.Errorf("the commit whose append failed returned %v", failed.err)
		}
		// The dependent proposals were checked again without the failed one.
		if built.err != nil || deleting.err != nil {
			t.Errorf("later commits returned %v and %v", built.err, deleting.err)
		}
		var conflict *store.ConflictError
		if conflicting.err != nil && !errors.As(conflicting.err, &conflict) {
			t.Errorf("the second create returned %v", conflicting.err)
		}
		w, err := s.Watch(object.Prefix(configMaps, ""), base)
		if err != nil {
			t.Fatal(err)
		}
		events, _ := w.Take(100)
		for i, e := range events {
			if e.Revision() != base+1+object.Revision(i) || storetest.Value(e.Object) == "1" && e.Key().Name() == "a" {
				t.Errorf("event %d has revision %d and object %s", i, e.Revision()-base, storetest.Value(e.Object))
			}
		}
	})
}

func TestCommitAfterFailedAppend(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		change := put("a", "1", store.Absent())
		faults.Fail(errors.New("no space left"))
		if _, err := s.Commit(t.Context(), change); err == nil {
			t.Fatal("the commit did not fail")
		}
		if s.Get(change.Key) != nil {
			t.Error("the object of a failed commit can be read")
		}
		if revision, err := s.Commit(t.Context(), change); err != nil || s.Get(change.Key).Revision != revision {
			t.Errorf("the retry returned %d, %v", revision, err)
		}
	})
}

func TestCommitWaitEndsWithContext(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		release := faults.Hold()
		ctx, cancel := context.WithCancel(t.Context())
		first := commitAsync(ctx, s, put("a", "1", store.Absent()))
		blocked := commitAsync(ctx, s, put("a", "2", store.Absent()))
		cancel()
		synctest.Wait()
		if !errors.Is(first.err, context.Canceled) || !errors.Is(blocked.err, context.Canceled) {
			t.Errorf("canceled commits returned %v and %v", first.err, blocked.err)
		}
		release()
		synctest.Wait()
		if got := storetest.Value(s.Get(storetest.Key("a"))); got != "1" {
			t.Errorf("after the canceled commit became durable, a is %q, want 1", got)
		}
	})
}

func TestCloseEndsPendingCommits(t *testing.T) {
	withFaults(t, func(t *testing.T, s *store.Store, faults *storetest.Faults) {
		faults.Hold()
		first := commitAsync(t.Context(), s, put("a", "1", store.Absent()))
		second := commitAsync(t.Context(), s, put("b", "1", store.Absent()))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !errors.Is(first.err, store.ErrClosed) || !errors.Is(second.err, store.ErrClosed) {
			t.Errorf("pending commits returned %v and %v", first.err, second.err)
		}
	})
}

// lost is a log whose connection to other writers breaks.
type lost struct {
	*memory.Log
	broken chan error
}

func (l lost) Follow(ctx context.Context, _ object.Revision, _ func(log.Commit) error) error {
	select {
	case err := <-l.broken:
		return err
	case <-ctx.Done():
		return nil
	}
}

func TestStoreEndsWithItsLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lost{memory.New(), make(chan error)}
		s, err := store.New(t.Context(), l, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w, err := s.Watch(object.Prefix(configMaps, ""), s.Current())
		if err != nil {
			t.Fatal(err)
		}
		changed := w.Changed()
		broken := errors.New("connection lost")
		l.broken <- broken
		<-changed
		_, commit := s.Commit(t.Context(), put("a", "1", store.Absent()))
		_, take := w.Take(1)
		_, read := s.Snapshot(t.Context(), store.Latest())
		for name, err := range map[string]error{"commit": commit, "take": take, "snapshot": read} {
			if !errors.Is(err, broken) || !errors.Is(err, store.ErrClosed) {
				t.Errorf("%s returned %v", name, err)
			}
		}
	})
}
