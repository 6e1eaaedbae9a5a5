//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Lock acquires a read lock on an existing file, without changing or creating it: without a lock file the
// directory has no writer.
//
// A POSIX lock belongs to the process, which loses it by closing any descriptor of the file. A process must
// therefore not open a directory for reading while it writes to it.
func (sharedFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the writer of a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
