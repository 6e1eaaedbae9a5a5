package disk

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// sharedFS is the operating system's file system, with locks that exclude only writers, on systems with such
// locks.
type sharedFS struct{ vfs.FS }

// lockForReading locks a directory for reading and changes nothing in it.
func lockForReading(fs vfs.FS, dir string) (*folderLock, error) {
	if err := checkOwned(fs, dir); err != nil {
		return nil, err
	}
	folder, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, lockError(fs, dir, err)
	}
	return &folderLock{fs: fs, dir: dir, folder: folder, reader: true}, nil
}
