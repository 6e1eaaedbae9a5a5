package store_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// asWritten is a codec whose zero stamp matches objects without a codec, which are read in their own form.
type asWritten struct{ object.Codec }

func (asWritten) Stamp() object.Stamp { return 0 }

// aging runs a test in a bubble, on a store with a history of one minute.
func aging(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.New(t.Context(), memory.New(), store.Options{HistoryAge: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		test(t, s)
	})
}

func set(t *testing.T, s *store.Store, name, value string) object.Revision {
	t.Helper()
	revision, err := s.Commit(t.Context(), put(name, value, store.Anything()))
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func TestHistoryIsBoundedByAge(t *testing.T) {
	aging(t, func(t *testing.T, s *store.Store) {
		first := set(t, s, "a", "1")
		time.Sleep(40 * time.Second)
		second := set(t, s, "a", "2")
		time.Sleep(40 * time.Second)
		// The change of the second revision is 40 seconds old; that of the first was dropped, and with it
		// everything earlier.
		if oldest := s.Oldest(); oldest != first {
			t.Errorf("the oldest revision is %d, not %d", oldest, first)
		}
		if state, err := s.Snapshot(t.Context(), store.Exactly(first)); err != nil ||
			storetest.Value(state.Get(storetest.Key("a"))) != "1" {
			t.Errorf("the oldest revision cannot be read: %v", err)
		}
		time.Sleep(40 * time.Second)
		var compacted *store.CompactedError
		if _, err := s.Watch(storetest.Key("a"), first); !errors.As(err, &compacted) || compacted.Oldest != second {
			t.Errorf("a watch from a compacted revision returned %v", err)
		}
		if _, err := s.Snapshot(t.Context(), store.Exactly(first)); !errors.As(err, &compacted) ||
			compacted.Requested != first {
			t.Errorf("a snapshot of a compacted revision returned %v", err)
		}
		if w, err := s.Watch(storetest.Key("a"), second); err != nil {
			t.Errorf("a watch from the current revision returned %v", err)
		} else {
			w.Stop()
		}
	})
}

func TestIdleWatcherIsNotCompacted(t *testing.T) {
	aging(t, func(t *testing.T, s *store.Store) {
		w, err := s.Watch(storetest.Key("a"), set(t, s, "a", "1"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for i := range 100 {
			time.Sleep(time.Hour)
			set(t, s, "a", fmt.Sprint(i))
			<-w.Changed()
			if events, err := w.Take(10); err != nil || len(events) != 1 {
				t.Fatalf("after %d hours: got %d events, %v", i, len(events), err)
			}
		}
	})
}

func TestFramesOfOldEventsAreDropped(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Watch(storetest.Key("a"), s.Current())
	if err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", "1")
	events, err := w.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	frame := func() *byte {
		bytes, err := events[0].Frame(asWritten{}, watch.Added, object.Form{APIVersion: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		return &bytes[0]
	}
	if first, second := frame(), frame(); first != second {
		t.Error("the frame of a new event is not shared")
	}
	for range 200 {
		set(t, s, "big", string(make([]byte, 50_000)))
	}
	if first, second := frame(), frame(); first == second {
		t.Error("the frame of an old event was not dropped")
	}
}
