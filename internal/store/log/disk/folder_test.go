package disk_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// content returns the names and hashes of all files except the lock and holder files.
func content(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == "LOCK" || e.Name() == "HOLDER" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %x\n", e.Name(), sha256.Sum256(data))
	}
	return b.String()
}

// filled returns a directory with a store in it.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, _ := opened(t, dir, disk.Options{})
	put(t, s, "a", "1")
	closed(t, s)
	return dir
}

func opened(t *testing.T, dir string, options disk.Options) (*store.Store, *disk.Log) {
	t.Helper()
	l := open(t, dir, options)
	s, err := store.New(t.Context(), l, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func rewrite(t *testing.T, dir, name, old, fresh string) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s holds %q, %v", name, data, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, fresh)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTruncatedManifestIsUnchanged truncates the MANIFEST of a closed store. The store either
// opens with all objects, or is refused unchanged and opens with all objects after the MANIFEST is restored.
func TestTruncatedManifestIsUnchanged(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	s, _ := opened(t, dir, disk.Options{}) // creates a new MANIFEST
	closed(t, s)
	lists, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	newest := lists[len(lists)-1]
	whole := must(os.ReadFile(newest))(t)
	refusals := 0
	for end := len(whole) - 40; end < len(whole); end += 3 {
		dir, newest := filepath.Join(t.TempDir(), "objects"), filepath.Base(newest)
		if err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Dir(lists[0]))),
			os.Truncate(filepath.Join(dir, newest), int64(end))); err != nil {
			t.Fatal(err)
		}
		before := content(t, dir)
		l, err := disk.Open(dir, disk.Options{})
		if err == nil {
			err = l.Close()
		} else {
			refusals++
			checkNamesFile(t, err, newest, "MANIFEST-*")
			if content(t, dir) != before {
				t.Errorf("with %d of %d bytes it is changed, and refused", end, len(whole))
			}
			err = os.WriteFile(filepath.Join(dir, newest), whole, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, _ := opened(t, dir, disk.Options{})
		if value(s, "a") != "1" {
			t.Errorf("with %d of %d bytes a is %q", end, len(whole), value(s, "a"))
		}
		closed(t, s)
	}
	if refusals == 0 {
		t.Error("it is never refused")
	}
}

// TestStoreClosedOnFullDiskIsUnchanged closes a store whose last commits could not be flushed to a
// table, then truncates its write-ahead log.
func TestStoreClosedOnFullDiskIsUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(vfs.Default)
		s, _ := opened(t, dir, disk.Options{FS: fs})
		put(t, s, "a", "1")
		fs.failing(full)
		_, err := s.Commit(t.Context(), storetest.Put(storetest.Key("b"), "refused", store.Anything()))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("on a full disk a write returned %v", err)
		}
		time.Sleep(time.Second)
		_ = s.Close() // may return that the disk is full
	})
	file, whole := removeLastCommits(t, dir)
	var lost *disk.LostError
	if err := refused(t, dir); !errors.As(err, &lost) {
		t.Errorf("Open returned %v", err)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := opened(t, dir, disk.Options{})
	if value(s, "a") != "1" || value(s, "b") != "" {
		t.Errorf("a is %q, b is %q", value(s, "a"), value(s, "b"))
	}
	closed(t, s)
}

// crashed returns a copy of a store's directory taken after a write, once obsolete files were removed.
func crashed(t *testing.T, dir, written string) string {
	t.Helper()
	return crashedAfter(t, dir, store.Options{}, func(t *testing.T, s *store.Store) { put(t, s, written, "1") })
}

// crashedAfter is like crashed, with store options and arbitrary work.
func crashedAfter(t *testing.T, dir string, options store.Options, work func(*testing.T, *store.Store)) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "crashed")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.New(t.Context(), open(t, dir, disk.Options{}), options)
		if err != nil {
			t.Fatal(err)
		}
		work(t, s)
		time.Sleep(time.Minute)
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		closed(t, s)
	})
	return left
}

func TestLockMustBeRegularFile(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	lock := filepath.Join(dir, "LOCK")
	if err := errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	var inUse *disk.InUseError
	if err := refused(t, dir); errors.As(err, &inUse) || !strings.Contains(err.Error(), lock) {
		t.Errorf("Open returned %v", err)
	}
}

func TestReadOnlyDiskIsReported(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	for _, cause := range []error{syscall.EROFS, syscall.EACCES} {
		readOnly := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpMkdirAll {
				return cause
			}
			return nil
		}))
		_, err := disk.Open(dir, disk.Options{FS: readOnly})
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open returned %v", err)
		}
	}
}

// TestRevisionsIncreaseAfterClockWasSetBack reopens a store with the clock one day before its creation.
func TestRevisionsIncreaseAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	memory := vfs.NewMem()
	var last object.Revision
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(24 * time.Hour)
		s, _ := started(t, memory)
		put(t, s, "a", "1")
		put(t, s, "a", "2")
		last = s.Current()
		closed(t, s)
	})
	synctest.Test(t, func(t *testing.T) { // the clock of the new bubble starts a day earlier
		s, _ := started(t, memory)
		put(t, s, "a", "3")
		if s.Current() != last+1 || s.Oldest() > last-2 {
			t.Errorf("revision %d follows %d, and the history begins at %d", s.Current(), last, s.Oldest())
		}
		w, err := s.Watch("/configmaps/", last-1)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		events, err := w.Take(10)
		if err != nil || len(events) != 2 || storetest.Value(events[0].Previous) != "1" {
			t.Errorf("a watch resumes with %v, %v", events, err)
		}
		closed(t, s)
	})
}
