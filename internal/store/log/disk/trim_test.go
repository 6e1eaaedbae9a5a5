package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestTrimmedHistoryFreesSpace repeatedly writes the same objects and deletes one of them.
func TestTrimmedHistoryFreesSpace(t *testing.T) {
	t.Parallel()
	memory := vfs.NewMem()
	options := store.Options{HistoryBytes: 1 << 20}
	s := openMemory(t, memory, options)
	large := strings.Repeat("x", 16<<10)
	const written = 96 << 20
	for i := range written / len(large) {
		put(t, s, "kept", large)
		if i%10 == 0 {
			put(t, s, "gone", large)
			if _, err := s.Commit(t.Context(), storetest.Delete(storetest.Key("gone"), store.Anything())); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, s)
	s = openMemory(t, memory, options) // flushes the write-ahead log to tables
	closed(t, s)
	if held := tables(t, memory); held > written/3 {
		t.Errorf("after %d MiB were written, of which the history retains 1, the tables have %d MiB", written>>20,
			held>>20)
	}
}

// TestDamagedHistoryIsNotTrimmed damages an entry. The state that a later commit replaced still
// exists, and would become the newest if the later changes of its object were trimmed.
func TestDamagedHistoryIsNotTrimmed(t *testing.T) {
	t.Parallel()
	dir := replaced(t)
	damageEntry(t, dir)
	staysDeleted(t, dir, disk.Options{})
}

// replaced returns a store in which commit 0 of 300 creates a and commit 200 replaces it.
func replaced(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, _ := opened(t, dir, disk.Options{})
	for i := range 300 {
		switch i {
		case 0:
			put(t, s, "a", "1")
		case 200:
			put(t, s, "a", "2")
		default:
			put(t, s, fmt.Sprint("other-", i), "1")
		}
	}
	closed(t, s)
	return dir
}

// damageEntry damages the entry of commit 150 in a store made by replaced.
func damageEntry(t *testing.T, dir string) {
	t.Helper()
	const entry = "\xb0\x1e\xc0\xdf"
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	for _, name := range tables {
		data := must(os.ReadFile(name))(t)
		if bytes.Count(data, []byte(entry)) != 300 {
			continue
		}
		at := 0
		for range 150 {
			at += bytes.Index(data[at:], []byte(entry)) + len(entry)
		}
		data[at] ^= 1
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("none of %q has all commits", tables)
}

// staysDeleted deletes a and trims the history, over two runs of the store. After the third start, a must not
// exist.
func staysDeleted(t *testing.T, dir string, options disk.Options) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for restart := range 2 {
			s, err := store.New(t.Context(), open(t, dir, options), store.Options{HistoryBytes: 1})
			if err != nil {
				t.Fatal(err)
			}
			if restart == 0 {
				if _, err := s.Commit(t.Context(), storetest.Delete(storetest.Key("a"), store.Anything())); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 130 {
				put(t, s, fmt.Sprint("other-", i), "2")
			}
			time.Sleep(time.Minute)
			closed(t, s)
		}
		s, _ := opened(t, dir, options)
		if value(s, "a") != "" {
			t.Errorf("a was deleted, and is %q", value(s, "a"))
		}
		closed(t, s)
	})
}

func openMemory(t *testing.T, fs vfs.FS, options store.Options) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), open(t, "objects", disk.Options{FS: fs}), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tables returns the total size of all tables.
func tables(t *testing.T, fs vfs.FS) (bytes int64) {
	t.Helper()
	names, err := fs.List("objects")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			info, err := fs.Stat(path.Join("objects", name))
			if err != nil {
				t.Fatal(err)
			}
			bytes += info.Size()
		}
	}
	return bytes
}
