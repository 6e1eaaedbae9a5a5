//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Lock takes a reader's lock, by a file that is not changed, nor made: a folder without one is that of nobody who writes.
//
// A lock of POSIX belongs to the process, which loses it when it closes any descriptor of the file. So no process may
// read a folder in which it writes.
func (shared) Lock(name string) (io.Closer, error) {
	f, err := os.Open(name)
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
