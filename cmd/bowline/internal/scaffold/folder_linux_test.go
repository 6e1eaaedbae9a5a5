package scaffold_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/scaffold"
)

// TestWriteWithoutPermission checks that Write fails in a read-only parent, but fills an existing writable
// folder. If the test runs as root, it switches to another file system user.
func TestWriteWithoutPermission(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "bowline-new-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(parent, 0o700) // needed if the test does not run as root
		os.RemoveAll(parent)
	})
	theirs := filepath.Join(parent, "theirs")
	err = errors.Join(os.Mkdir(theirs, 0o700), os.Chmod(theirs, 0o777), os.Chmod(parent, 0o555))
	if err != nil {
		t.Fatal(err)
	}
	if err := writeAsAnother(filepath.Join(parent, "new")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("new folder in a read-only parent: got error %v, want %v", err, fs.ErrPermission)
	}
	if err := writeAsAnother(theirs); err != nil {
		t.Error(err)
	}
	if got := contents(t, theirs); got != ".d a.txt b b/c.txt" {
		t.Errorf("got files %s, want those written", got)
	}
}

// writeAsAnother calls Write as another file system user. The user applies to a single thread, which ends
// with the goroutine.
func writeAsAnother(folder string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		done <- scaffold.Write(folder, files)
	}()
	return <-done
}
