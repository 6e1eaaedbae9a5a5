package disk_test

import (
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/store"
	"github.com/bowline-dev/bowline/store/log/disk"
	"github.com/bowline-dev/bowline/store/storetest"
)

// TestWhatTheHistoryLetGoOfGivesItsRoomBack writes the same objects again and again, and deletes one each time.
func TestWhatTheHistoryLetGoOfGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	memory := vfs.NewMem()
	options := store.Options{HistoryBytes: 1 << 20}
	s := tidy(t, memory, options)
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
	s = tidy(t, memory, options) // what was in the write-ahead log goes to tables
	closed(t, s)
	if held := tables(t, memory); held > written/3 {
		t.Errorf("after %d MiB were written, of which the history keeps 1, the tables have %d MiB", written>>20, held>>20)
	}
}

func tidy(t *testing.T, fs vfs.FS, options store.Options) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), open(t, "objects", disk.Options{FS: fs}), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tables is the size of all tables.
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
