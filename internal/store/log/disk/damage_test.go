package disk_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// loaded opens and loads a log: it returns the values of live objects by name, and the damaged objects.
func loaded(t *testing.T, dir string) (live map[string]string, damaged []string, err error) {
	t.Helper()
	l, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return loadOpen(t, l)
}

// loadOpen loads an open log.
func loadOpen(t *testing.T, l *disk.Log) (live map[string]string, damaged []string, err error) {
	t.Helper()
	live = map[string]string{}
	_, err = l.Load(t.Context(), log.Loading{
		Live:    func(o *object.Object) error { live[o.Key.Name()] = storetest.Value(o); return nil },
		History: func(*object.Event, time.Time) error { return nil },
		Damaged: func(key object.Key, err error) error {
			damaged = append(damaged, fmt.Sprintf("%s: %v", key, err))
			return nil
		},
	})
	return live, damaged, err
}

// inTables returns a store with n objects, all of them in tables, and their values.
func inTables(t *testing.T, n int) (dir string, want map[string]string) {
	t.Helper()
	dir, want = t.TempDir(), map[string]string{}
	s, _ := opened(t, dir, disk.Options{})
	for i := range n {
		name, value := fmt.Sprintf("object-%03d", i), fmt.Sprintf("the value of %03d", i)
		put(t, s, name, value)
		want[name] = value
	}
	closed(t, s)
	s, _ = opened(t, dir, disk.Options{})
	closed(t, s)
	return dir, want
}

// flip flips one bit within text in the first file matching pattern that contains it, and returns the file.
func flip(t *testing.T, dir, pattern, text string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(data, []byte(text)); at >= 0 {
			data[at+len(text)/2] ^= 4
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("no %s holds %q", pattern, text)
	return ""
}

func TestDamagedObjectAffectsNoOther(t *testing.T) {
	t.Parallel()
	dir, want := inTables(t, 300)
	flip(t, dir, "*.sst", "the value of 123")
	for range 2 { // the damage persists and is found each time
		live, damaged, err := loaded(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(damaged) != 1 || !strings.Contains(damaged[0], "/configmaps/default/object-123: ") {
			t.Errorf("damaged objects: %q", damaged)
		}
		for name, value := range want {
			if name != "object-123" && live[name] != value {
				t.Errorf("%s is %q", name, live[name])
			}
		}
		if _, served := live["object-123"]; served {
			t.Error("the damaged object was returned as intact")
		}
	}
}

// TestDamagedBlockAffectsNoOtherTable replaces and deletes objects whose old states are in a block that
// is damaged later. The new states are in another table, as are the deletions whose history was trimmed.
func TestDamagedBlockAffectsNoOtherTable(t *testing.T) {
	t.Parallel()
	dir, want := inTables(t, 300)
	s, err := store.New(t.Context(), open(t, dir, disk.Options{}), store.Options{HistoryAge: 1, HistoryBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		name := fmt.Sprintf("object-%03d", 110+i%20)
		if name == "object-123" || name == "object-124" {
			continue
		}
		want[name] = fmt.Sprint("replaced by ", i)
		put(t, s, name, want[name])
	}
	if _, err := s.Commit(t.Context(), storetest.Delete(storetest.Key("object-124"), store.Anything())); err != nil {
		t.Fatal(err)
	}
	delete(want, "object-124")
	closed(t, s)
	flip(t, dir, "*.sst", "the value of 123")
	live, damaged, err := loaded(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "object-123")
	if !maps.Equal(live, want) || len(damaged) != 1 ||
		!strings.Contains(damaged[0], "/configmaps/default/object-123: ") {
		t.Errorf("damaged objects: %q; got %d objects, want %d", damaged, len(live), len(want))
	}
}

// TestFlippedBitsInTablesAreDetected flips bits at many offsets of a table: Load either returns what was
// written or reports the damage.
func TestFlippedBitsInTablesAreDetected(t *testing.T) {
	t.Parallel()
	dir, want := inTables(t, 60)
	files, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	file := slices.MaxFunc(files, func(a, b string) int { return int(size(t, a) - size(t, b)) })
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole = slices.Clone(whole)
	named, refused := 0, 0
	for at := 7; at < len(whole); at += len(whole) / 20 {
		copied := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		broken := slices.Clone(whole)
		broken[at] ^= 1 << (at % 8)
		if err := os.WriteFile(filepath.Join(copied, filepath.Base(file)), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		live, damaged, err := loaded(t, copied)
		switch {
		case err != nil:
			refused++
			if !strings.Contains(err.Error(), copied) {
				t.Errorf("byte %d: the error does not name the folder: %v", at, err)
			}
			continue
		case len(damaged) > 0:
			named++
		default:
			for name, value := range want {
				if live[name] != value {
					t.Errorf("byte %d of %s changed, and %s is %q, unnoticed", at, file, name, live[name])
				}
			}
		}
		for name, value := range live {
			if want[name] != value {
				t.Errorf("byte %d of %s changed, and %s is %q", at, file, name, value)
			}
		}
	}
	t.Logf("%d bytes: %d stores named the damaged objects, %d were refused", len(whole), named, refused)
}

func size(t *testing.T, file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestDamagedWriteAheadLogIsReportedAndUnchanged(t *testing.T) {
	t.Parallel()
	lives := t.TempDir()
	s, _ := opened(t, lives, disk.Options{})
	for i := range 300 {
		put(t, s, fmt.Sprint(i), fmt.Sprintf("the value of %03d", i))
	}
	dir := filepath.Join(t.TempDir(), "killed") // a copy of the running store's files
	if err := os.CopyFS(dir, os.DirFS(lives)); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	file := flip(t, dir, "*.log", "the value of 123")
	if _, _, err := loaded(t, dir); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
		t.Errorf("Open returned %v", err)
	}
	flip(t, dir, "*.log", "the value of 124") // it was not removed
}
