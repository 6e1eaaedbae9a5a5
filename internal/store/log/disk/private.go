package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// privateMode is the mode of all files of a store: they contain Secrets.
const privateMode os.FileMode = 0o600

// privateFS is the operating system's file system. Only the owner can access the files that it creates, whatever the
// umask is.
type privateFS struct{ vfs.FS }

func (p privateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return private(p.FS.Create(name, category))(name)
}

func (p privateFS) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	options ...vfs.OpenOption) (vfs.File, error) {
	return private(p.FS.OpenReadWrite(name, category, options...))(name)
}

func (p privateFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return private(p.FS.ReuseForWrite(from, to, category))(to)
}

func (p privateFS) Lock(name string) (io.Closer, error) { return private(p.FS.Lock(name))(name) }

func (p privateFS) Unwrap() vfs.FS { return p.FS }

// private returns a function that restricts the access to an opened file, and closes it if that fails.
func private[F io.Closer](file F, err error) func(name string) (F, error) {
	return func(name string) (F, error) {
		if err != nil {
			return file, err
		}
		if err := os.Chmod(name, privateMode); err != nil {
			return *new(F), errors.Join(err, file.Close())
		}
		return file, nil
	}
}

// restrict restricts the access to the files of a store that an earlier version, or a copy, left open to others.
func (p privateFS) restrict(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&^privateMode == 0 {
			continue
		}
		if err := os.Chmod(filepath.Join(dir, entry.Name()), privateMode); err != nil {
			return err
		}
	}
	return nil
}
