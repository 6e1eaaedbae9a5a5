package disk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// inManyTables returns a store that was closed once per round, each time after creating some objects and
// replacing or deleting others, so that most tables overlap others. It also returns the live values and the
// number of commits. The arguments are the order in which the key ranges are written.
func inManyTables(t *testing.T, rounds ...int) (dir string, want map[string]string, commits int) {
	t.Helper()
	dir, want = t.TempDir(), map[string]string{}
	for _, round := range rounds { // fewer than four rounds, because the database would compact four tables
		s, _ := opened(t, dir, disk.Options{})
		for i := range 100 {
			name, value := fmt.Sprintf("object-%03d", 80*round+i),
				fmt.Sprintf("the value of %03d in round %d", 80*round+i, round)
			put(t, s, name, value)
			want[name] = value
		}
		missing := fmt.Sprintf("object-%03d", 80*round)
		if _, err := s.Commit(t.Context(), storetest.Delete(storetest.Key(missing), store.Anything())); err != nil {
			t.Fatal(err)
		}
		delete(want, missing)
		commits += 101
		closed(t, s)
	}
	if tables, _ := filepath.Glob(filepath.Join(dir, "*.sst")); len(tables) < 3 {
		t.Fatalf("the store has only %d tables: the test is inconclusive", len(tables))
	}
	return dir, want, commits
}

func TestPartsAreInKeyOrderWithHistory(t *testing.T) {
	t.Parallel()
	dir, want, commits := inManyTables(t, 0, 1, 2)
	l := open(t, dir, disk.Options{})
	var names []string
	live, replayed := map[string]string{}, map[string]string{}
	last := object.Revision(0)
	revision, err := l.Load(t.Context(), log.Loading{
		Live: func(o *object.Object) error {
			names = append(names, o.Key.Name())
			live[o.Key.Name()] = storetest.Value(o)
			return nil
		},
		History: func(e *object.Event, _ time.Time) error {
			if last != 0 && e.Revision() != last+1 {
				t.Errorf("the change of revision %d follows that of %d", e.Revision(), last)
			}
			last = e.Revision()
			before, known := replayed[e.Key().Name()]
			if known != (e.Previous != nil) || known && storetest.Value(e.Previous) != before {
				t.Errorf("at revision %d, %s was %q, which is not the previous state of the event", last, e.Key(),
					before)
			}
			replayed[e.Key().Name()] = storetest.Value(e.Object)
			if e.Deleted {
				delete(replayed, e.Key().Name())
			}
			commits--
			return nil
		},
		Damaged: func(key object.Key, err error) error { return fmt.Errorf("%s: %w", key, err) },
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || last != revision || commits != 0 {
		t.Fatalf("the history ends at %d, the log at %d; %d commits are missing (%v)", last, revision, commits, err)
	}
	if !maps.Equal(live, want) || !maps.Equal(replayed, want) {
		t.Errorf("loaded %v and replayed %v, want %v", live, replayed, want)
	}
	if !slices.IsSorted(names) || len(names) != len(want) {
		t.Errorf("Load returned %d objects in the order %q", len(names), names)
	}
}

func TestDamageInOnePartAffectsNoOther(t *testing.T) {
	t.Parallel()
	dir, want, _ := inManyTables(t, 0, 1, 2)
	flip(t, dir, "*.sst", want["object-075"])
	live, damaged, err := loaded(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "object-075")
	if !maps.Equal(live, want) {
		t.Errorf("got %d objects, want %d", len(live), len(want))
	}
	if len(damaged) != 1 || !strings.Contains(damaged[0], "/object-075: ") {
		t.Errorf("damaged objects: %q", damaged)
	}
}

func TestDamageInTwoTablesAffectsTwoObjects(t *testing.T) {
	t.Parallel()
	for _, rounds := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		dir, want, _ := inManyTables(t, rounds...)
		for _, name := range []string{"object-020", "object-235"} {
			flip(t, dir, "*.sst", want[name])
			delete(want, name)
		}
		live, damaged, err := loaded(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(live, want) || len(damaged) != 2 {
			t.Errorf("got %d objects, want %d; damaged objects: %q", len(live), len(want), damaged)
		}
	}
}

// killed returns a copy of a store's directory after many objects were replaced and deleted and the history
// was trimmed, with all of these changes still in the write-ahead log. It updates want accordingly.
func killed(t *testing.T, dir string, want map[string]string) string {
	t.Helper()
	return crashedAfter(t, dir, store.Options{HistoryAge: 1, HistoryBytes: 1}, func(t *testing.T, s *store.Store) {
		for i := range 260 {
			name := fmt.Sprintf("object-%03d", i)
			switch _, found := want[name]; {
			case i%3 == 0 && name != "object-075":
				want[name] = fmt.Sprint("replaced by ", i)
				put(t, s, name, want[name])
			case i%3 == 1 && found:
				if _, err := s.Commit(t.Context(),
					storetest.Delete(storetest.Key(name), store.Anything())); err != nil {
					t.Fatal(err)
				}
				delete(want, name)
			}
		}
	})
}

// TestDamagedBlockRetainsUnflushedObjects reads a damaged store that was killed: first without write access
// or space, so that the write-ahead log cannot be flushed to a table, and then with both.
func TestDamagedBlockRetainsUnflushedObjects(t *testing.T) {
	t.Parallel()
	dir, want, _ := inManyTables(t, 0, 1, 2)
	dir = killed(t, dir, want)
	flip(t, dir, "*.sst", want["object-075"])
	delete(want, "object-075")
	fullDisk := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(full))
	for _, options := range []disk.Options{{ReadOnly: true}, {FS: fullDisk}, {}} {
		l := open(t, dir, options)
		live, damaged, err := loadOpen(t, l)
		if err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if !maps.Equal(live, want) || len(damaged) != 1 || !strings.Contains(damaged[0], "/object-075: ") {
			t.Errorf("damaged objects: %q; got %v, want %v", damaged, live, want)
		}
	}
}

func TestReadsStopWithConsumer(t *testing.T) {
	t.Parallel()
	dir, want, _ := inManyTables(t, 0, 1, 2)
	whole, cancel := context.WithCancel(t.Context())
	l := open(t, dir, disk.Options{ReadOnly: true})
	chunks, err := l.ReadAlone(whole)
	if err != nil || slices.Contains(chunks, 0) {
		t.Errorf("the parts of an intact store have %d chunks (%v)", chunks, err)
	}
	cancel()
	for range 10 {
		chunks, err := l.ReadAlone(whole)
		if err != nil || slices.Max(chunks) != 0 {
			t.Errorf("after the context ended there are %d chunks (%v)", chunks, err)
		}
	}
	if _, err := l.Load(whole, log.Loading{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load after the context ended returned %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}

	flip(t, dir, "*.sst", want["object-020"])
	l = open(t, dir, disk.Options{ReadOnly: true})
	chunks, err = l.ReadAlone(t.Context())
	if err != nil || chunks[0] == 0 || chunks[len(chunks)-1] != 0 {
		t.Errorf("with one reader for all parts there are %d chunks (%v)", chunks,
			err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
