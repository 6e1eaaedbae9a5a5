package disk_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// TestTruncatedWriteAheadLogIsRejected removes the last commits of a store that was killed.
// Restoring the file restores the commits; continuing without them never reuses a revision.
func TestTruncatedWriteAheadLogIsRejected(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(file string, size int64) error{
		"a byte":     func(file string, size int64) error { return os.Truncate(file, size-1) },
		"everything": func(file string, _ int64) error { return os.Truncate(file, 0) },
		"the file": func(file string, _ int64) error {
			return errors.Join(os.Remove(file),
				os.WriteFile(filepath.Join(filepath.Dir(file), "000001.log"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := crashed(t, filled(t), "b")
			file, data := lastWritten(t, dir)
			written := strings.TrimRight(string(data), "\x00") // the rest of the file is preallocated
			if err := cut(file, int64(len(written))); err != nil {
				t.Fatal(err)
			}
			var lost *disk.LostError
			if err := refused(t, dir); !errors.As(err, &lost) || !strings.Contains(err.Error(), dir) ||
				!strings.Contains(err.Error(), "*.log") {
				t.Errorf("Open returned %v", err)
			}
			if err := refused(t, dir); !errors.As(err, &lost) {
				t.Errorf("the second Open returned %v", err)
			}
			if _, err := disk.Open(dir, disk.Options{ReadOnly: true}); !errors.As(err, &lost) {
				t.Errorf("a read-only Open returned %v", err)
			}
			putBack := filepath.Join(t.TempDir(), "objects")
			if err := errors.Join(os.CopyFS(putBack, os.DirFS(dir)),
				os.WriteFile(filepath.Join(putBack, filepath.Base(file)), data, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, _ := opened(t, putBack, disk.Options{})
			if value(s, "a") != "1" || value(s, "b") != "1" {
				t.Error("the restored object is missing")
			}
			closed(t, s)
			checkAcceptedLoss(t, dir, lost)
		})
	}
}

// lastWritten returns the newest write-ahead log that is not empty.
func lastWritten(t *testing.T, dir string) (name string, data []byte) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, file := range slices.Backward(files) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(string(data), "\x00") != "" {
			return file, data
		}
	}
	t.Fatal("every write-ahead log is empty")
	return "", nil
}

// removeLastCommits removes the last commits and returns their file and its original contents.
func removeLastCommits(t *testing.T, dir string) (file string, whole []byte) {
	t.Helper()
	file, whole = lastWritten(t, dir)
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	return file, whole
}

// checkAcceptedLoss accepts the loss and checks that it is logged once, that the rest is present across restarts, and
// that revisions start above all acknowledged ones.
func checkAcceptedLoss(t *testing.T, dir string, lost *disk.LostError) {
	t.Helper()
	var logged strings.Builder
	s, _ := opened(t, dir, disk.Options{AcceptLoss: true, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if value(s, "a") != "1" || value(s, "b") != "" || s.Current() <= lost.Acknowledged {
		t.Errorf("a is %q, b is %q, at revision %d", value(s, "a"), value(s, "b"), s.Current())
	}
	var compacted *store.CompactedError
	if _, err := s.Watch("/configmaps/", lost.Found); !errors.As(err, &compacted) {
		t.Errorf("a watch from before the loss: got %v", err)
	}
	put(t, s, "a", "2")
	last := s.Current()
	closed(t, s)
	if n := strings.Count(logged.String(), "continuing without acknowledged commits"); n != 1 {
		t.Errorf("the loss is logged %d times:\n%s", n, &logged)
	}
	s, _ = opened(t, dir, disk.Options{})
	if value(s, "a") != "2" || s.Current() != last {
		t.Errorf("a is %q, at revision %d", value(s, "a"), s.Current())
	}
	closed(t, s)
}

// TestDeletionAfterAcceptedLossIsDurable deletes an object that was replaced by a commit before the lost
// ones.
func TestDeletionAfterAcceptedLossIsDurable(t *testing.T) {
	t.Parallel()
	dir := crashed(t, replaced(t), "b")
	removeLastCommits(t, dir)
	staysDeleted(t, dir, disk.Options{AcceptLoss: true})
}

func TestLossWithDamagedHistoryIsRejected(t *testing.T) {
	t.Parallel()
	dir := crashed(t, replaced(t), "b")
	removeLastCommits(t, dir)
	damageEntry(t, dir)
	before := content(t, dir)
	_, err := disk.Open(dir, disk.Options{AcceptLoss: true})
	if err == nil || !strings.Contains(err.Error(), "earlier commits, which cannot be read") ||
		!strings.Contains(err.Error(), ".sst") {
		t.Errorf("Open returned %v", err)
	}
	if content(t, dir) != before {
		t.Error("the rejected Open changed the folder")
	}
	s, _ := opened(t, dir, disk.Options{AcceptLoss: true, ReadOnly: true}) // so that it can be backed up
	if value(s, "a") != "2" {
		t.Errorf("a is %q", value(s, "a"))
	}
	closed(t, s)
}

func TestLossOnFullDiskIsRejected(t *testing.T) {
	t.Parallel()
	dir := crashed(t, filled(t), "b")
	removeLastCommits(t, dir)
	before := content(t, dir)
	fs := newFaulty(vfs.Default)
	fs.failing(full)
	_, err := disk.Open(dir, disk.Options{FS: fs, AcceptLoss: true})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "are lost") ||
		strings.Contains(err.Error(), "pebble") {
		t.Errorf("Open on a full disk returned %v", err)
	}
	if content(t, dir) != before {
		t.Error("the rejected Open changed the folder")
	}
	fs.failing(nil)
	s, _ := opened(t, dir, disk.Options{FS: fs, AcceptLoss: true})
	if value(s, "a") != "1" || value(s, "b") != "" {
		t.Errorf("a is %q, b is %q", value(s, "a"), value(s, "b"))
	}
	closed(t, s)
}

// TestInvalidDurableFileIsIgnored writes invalid contents to DURABLE, which Open must ignore: the file is not synced,
// so a crash may leave anything in it.
func TestInvalidDurableFileIsIgnored(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "000", strings.Repeat("\x00", 30), "09999999999999999999 00000000\n"} {
		dir := crashed(t, filled(t), "b")
		if err := os.WriteFile(filepath.Join(dir, "DURABLE"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := opened(t, dir, disk.Options{})
		put(t, s, "c", "1")
		closed(t, s)
	}
}
