package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// shared is the operating system's file system, of which a folder is locked against writers alone.
type shared struct{ vfs.FS }

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

// enterToRead takes a folder for a reader, who leaves no trace in it.
func enterToRead(fs vfs.FS, dir string) (*folderLock, error) {
	if err := mustBeOurs(fs, dir); err != nil {
		return nil, err
	}
	folder, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, notEntered(fs, dir, err)
	}
	return &folderLock{fs: fs, dir: dir, folder: folder, reader: true}, nil
}
