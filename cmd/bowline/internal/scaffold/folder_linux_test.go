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

// TestPlaceThatMayNotBeWritten works as somebody else on the disk, where the test runs as root; the thread ends with that.
func TestPlaceThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "bowline-new-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		done <- scaffold.Write(filepath.Join(parent, "new"), files)
	}()
	if err := <-done; !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the error is %v", err)
	}
}
