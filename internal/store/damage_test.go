package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// logsWithDamage returns an asynchronous and an instant log that report the given number of damaged objects, lost-0
// and so on. The asynchronous log also contains an intact object, whole.
func logsWithDamage(t *testing.T, objects int) map[string]log.Log {
	t.Helper()
	journal := storetest.NewJournal()
	s, err := store.New(t.Context(), journal.Open(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []object.Key
	for i := range objects {
		key := storetest.Key(fmt.Sprintf("lost-%d", i))
		keys = append(keys, key)
		commit(t, s, storetest.Put(key, "1", store.Absent()))
	}
	commit(t, s, storetest.Put(storetest.Key("whole"), "1", store.Absent()))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]log.Log{
		"journal": &storetest.Damaged{Log: journal.Open(), Keys: keys},
		"memory":  &storetest.Damaged{Log: memory.New(), Keys: keys},
	}
}

func commit(t *testing.T, s *store.Store, changes ...store.Change) object.Revision {
	t.Helper()
	revision, err := s.Commit(t.Context(), changes...)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// accepted returns a store that was opened without the damaged objects.
func accepted(t *testing.T, l log.Log) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), l, store.Options{AcceptDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestOpenRejectsUnacceptedDamage(t *testing.T) {
	t.Parallel()
	for name, l := range logsWithDamage(t, 12) {
		_, err := store.New(t.Context(), l, store.Options{})
		var damage *store.DamagedError
		if !errors.As(err, &damage) || len(damage.Damaged) != 12 {
			t.Fatalf("%s: %v", name, err)
		}
		if text := err.Error(); !strings.Contains(text, "12 of its objects are damaged") ||
			!strings.Contains(text, "/configmaps/default/lost-0 cannot be read: "+storetest.ErrDamage.Error()) ||
			!strings.Contains(text, "and 2 more") {
			t.Errorf("%s: the error is\n%s", name, text)
		}
	}
}

func TestAcceptedDamageRetainsOtherObjects(t *testing.T) {
	t.Parallel()
	for name, l := range logsWithDamage(t, 2) {
		s := accepted(t, l)
		key := storetest.Key("lost-1")
		var unreadable *store.UnreadableError
		if s.Get(key) != nil || !errors.As(s.Damage(key), &unreadable) ||
			!errors.Is(s.Damage(key), storetest.ErrDamage) || unreadable.Key != key {
			t.Errorf("%s: the damaged object is %v, with damage %v", name, s.Get(key), s.Damage(key))
		}
		if err := s.Damage(storetest.Key("whole")); err != nil {
			t.Errorf("%s: the intact object has damage %v", name, err)
		}
		if all, other := s.Damaged(), s.DamagedIn("/secrets/"); len(all) != 2 || all[1].Key != key || len(other) != 0 {
			t.Errorf("%s: damaged objects are %v, and %v of another kind", name, all, other)
		}
		for _, change := range []store.Change{
			storetest.Put(key, "2", store.Anything()),
			storetest.Put(key, "2", store.Absent()),
			storetest.Delete(key, store.At(1)),
			storetest.Delete(key, store.Absent()),
		} {
			if _, err := s.Commit(t.Context(), storetest.Put(storetest.Key("other"), "1", store.Anything()),
				change); !errors.As(err, &unreadable) {
				t.Errorf("%s: a change that expects %s returned %v", name, change.Expect, err)
			}
		}
		if s.Get(storetest.Key("other")) != nil {
			t.Errorf("%s: a rejected commit was applied in part", name)
		}
		commit(t, s, storetest.Put(storetest.Key("whole"), "2", store.Anything()))
	}
}

func TestDamagedObjectIsDeleted(t *testing.T) {
	t.Parallel()
	for name, l := range logsWithDamage(t, 2) {
		s := accepted(t, l)
		key := storetest.Key("lost-0")
		before := s.Current()
		w, err := s.Watch("/configmaps/", before)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		revision := commit(t, s, storetest.Delete(key, store.Anything()),
			storetest.Put(storetest.Key("other"), "1", store.Anything()))
		if second := commit(t, s, storetest.Delete(key, store.Anything())); revision != before+1 || second != revision {
			t.Errorf("%s: deleted at revision %d, and again at %d; the revision before was %d", name, revision, second,
				before)
		}
		if err := s.Damage(key); err != nil || len(s.Damaged()) != 1 {
			t.Errorf("%s: the deleted object is still damaged: %v", name, err)
		}
		if alone := commit(t, s, storetest.Delete(storetest.Key("lost-1"), store.Anything())); alone != revision+1 ||
			s.Current() != alone {
			t.Errorf("%s: a deletion alone was committed at %d, and the store is at %d", name, alone, s.Current())
		}
		commit(t, s, storetest.Put(key, "2", store.Absent()))
		events, err := w.Take(10)
		if err != nil || len(events) != 2 || events[0].Key() != storetest.Key("other") || events[1].Key() != key {
			t.Errorf("%s: the watch returned %v, %v", name, events, err)
		}
	}
}

// TestAcceptedDamageEndsTheHistory checks that a client that may know a damaged object must list again.
func TestAcceptedDamageEndsTheHistory(t *testing.T) {
	t.Parallel()
	s := accepted(t, logsWithDamage(t, 1)["journal"])
	var compacted *store.CompactedError
	if _, err := s.Watch("/configmaps/", s.Current()-1); !errors.As(err, &compacted) {
		t.Errorf("a watch from an earlier revision returned %v", err)
	}
}
