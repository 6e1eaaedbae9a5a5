package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// refused opens a directory that must be refused, checks that it is unchanged, and returns the error.
func refused(t *testing.T, dir string) error {
	t.Helper()
	before := content(t, dir)
	l, err := disk.Open(dir, disk.Options{})
	if err == nil {
		l.Close()
		t.Fatal("the folder was opened")
	}
	if after := content(t, dir); after != before {
		t.Errorf("the rejected Open changed the folder from\n%s\nto\n%s", before, after)
	}
	return err
}

func TestForeignFolderIsUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	var foreign *disk.ForeignError
	if err := refused(t, dir); !errors.As(err, &foreign) || foreign.Holds != "letter.txt" {
		t.Errorf("Open of a foreign folder returned %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("Open added files: %v", entries)
	}
}

func TestFileInsteadOfFolderIsRejected(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(file, disk.Options{}); !errors.Is(err, syscall.ENOTDIR) ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("Open of a file returned %v", err)
	}
}

func TestNewerLayoutIsRejected(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	rewrite(t, dir, "FORMAT", "layout 1", "layout 7")
	var newer *disk.NewerError
	if err := refused(t, dir); !errors.As(err, &newer) || newer.Layout != 7 || !strings.Contains(err.Error(), dir) {
		t.Errorf("Open of a newer layout returned %v", err)
	}
	rewrite(t, dir, "FORMAT", "bowline store", "something else")
	if err := refused(t, dir); !strings.Contains(err.Error(), "FORMAT") {
		t.Errorf("Open with an invalid format file returned %v", err)
	}
}

func TestSecondOpenReportsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := opened(t, dir, disk.Options{})
	var inUse *disk.InUseError
	if _, err := disk.Open(dir, disk.Options{}); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("second open: got error %v", err)
	}
	put(t, s, "a", "1")
	closed(t, s)
	s, _ = opened(t, dir, disk.Options{})
	closed(t, s)
}

// TestRejectedStoreIsUnchanged damages the end of the MANIFEST of a crashed store: the MANIFEST then seems to
// end early, as if torn by the crash, and tables and logs that it does not list look obsolete.
func TestRejectedStoreIsUnchanged(t *testing.T) {
	t.Parallel()
	// The second start flushes the write-ahead log of the first to a table.
	dir := crashed(t, crashed(t, filled(t), "b"), "c")
	lists, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	newest := lists[len(lists)-1]
	info, err := os.Stat(newest)
	if err == nil {
		err = os.Truncate(newest, info.Size()-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(dir)
	l, err := disk.Open(dir, disk.Options{})
	if err == nil {
		_, err = store.New(t.Context(), l, store.Options{AcceptDamage: true})
	}
	if err == nil {
		t.Fatal("Open succeeded without the objects of the table")
	}
	for _, e := range before {
		if e.Name() == "HOLDER" || strings.HasPrefix(e.Name(), "marker.") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, e.Name())); err != nil {
			t.Error(err)
		}
	}
}
