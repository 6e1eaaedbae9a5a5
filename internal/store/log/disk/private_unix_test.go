//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
)

// TestFilesArePrivate opens a store twice with a umask that hides nothing, the second time with files that others can
// read. It is not parallel because the umask belongs to the process.
func TestFilesArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "objects")
	for round := range 2 {
		l, err := disk.Open(dir, disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.New(t.Context(), l, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) == 0 {
			t.Fatalf("got %d files, error %v", len(entries), err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("round %d: %s has mode %v, want no access for others", round, entry.Name(), info.Mode())
			}
			if err := os.Chmod(filepath.Join(dir, entry.Name()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
