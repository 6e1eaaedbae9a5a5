package disk

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// shared is the operating system's file system, with locks that exclude only writers, on systems with such
// locks.
type shared struct{ vfs.FS }

// enterToRead locks a directory for reading and changes nothing in it.
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
