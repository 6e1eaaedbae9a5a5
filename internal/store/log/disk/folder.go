package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// InUseError reports that another process, or another log of this process, has the directory open.
type InUseError struct {
	// Dir is the directory that could not be opened.
	Dir string
	// PID is the process that holds the directory; 0 if unknown.
	PID int
}

// Error names the directory and the process, and what to do.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the store in %s is in use by another process: end it, or use another folder", e.Dir)
	}
	return fmt.Sprintf("the store in %s is in use by process %d: end it, or use another folder", e.Dir, e.PID)
}

// ForeignError reports that a directory contains a file that does not belong to a store. The directory was
// not changed.
type ForeignError struct {
	Dir string
	// Holds is the name of such a file.
	Holds string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not a store's folder: it contains %s, but no %s: use an empty or a new folder; nothing "+
		"in it was changed", e.Dir, e.Holds, formatFile)
}

// ErrNoStore is returned if a store must exist but the directory is missing or empty. Nothing was created.
var ErrNoStore = errors.New("there is no store")

// IncompleteError reports that a required file is missing: without it, the store would start empty, or its directory
// would look like a foreign one. The directory was not changed.
type IncompleteError struct{ Dir, File, Holds string }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the store in %s is not complete: the file %s is missing, which holds %s: put it back, or restore a backup",
		e.Dir, e.File, e.Holds)
}

const (
	lockFile   = "LOCK"   // the file that is locked
	holderFile = "HOLDER" // the process that holds the lock
	formatFile = "FORMAT" // see format.go
)

// folderLock is a lock on a directory.
type folderLock struct {
	fs     vfs.FS
	dir    string
	folder *pebble.Lock
	reader bool // a reader does not write holderFile
}

// lock locks the directory according to the options.
func (o Options) lock(dir string) (*folderLock, error) {
	if info, err := o.FS.Stat(dir); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		// Reading a pipe would wait for its writer.
		return nil, fmt.Errorf("the store's folder %s is %s", dir, fileType(info.Mode()))
	}
	if o.MustExist || o.ReadOnly {
		if err := checkExists(o.FS, dir); err != nil {
			return nil, err
		}
	}
	if o.ReadOnly {
		return lockForReading(o.FS, dir)
	}
	return lockForWriting(o.FS, dir)
}

// lockForWriting locks the directory for writing, creating it if needed. It does not change a directory that is not a
// store's.
func lockForWriting(fs vfs.FS, dir string) (*folderLock, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store's folder cannot be created: %w", err)
	}
	if err := checkOwned(fs, dir); err != nil {
		return nil, err
	}
	folder, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, lockError(fs, dir, err)
	}
	l := &folderLock{fs: fs, dir: dir, folder: folder}
	if own, ok := fs.(privateFS); ok {
		if err := own.restrict(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("restricting access to the store's folder %s: %w", dir, err),
				l.release())
		}
	}
	if err := writeWhole(fs, dir, holderFile, strconv.Itoa(os.Getpid())+"\n"); err != nil && !isFull(err) {
		return nil, errors.Join(fmt.Errorf("the store's folder %s cannot be written to: %w", dir, err), l.release())
	}
	return l, nil
}

// checkOwned rejects a directory that has files but no format file: either the store has lost it, or the
// directory is foreign.
func checkOwned(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return fmt.Errorf("the store's folder %s cannot be read: %w", dir, err)
	}
	if slices.Contains(names, formatFile) {
		return nil
	}
	if slices.ContainsFunc(names, isList) {
		return &IncompleteError{Dir: dir, File: formatFile, Holds: "the version of its layout"}
	}
	for _, name := range names {
		if !isLockFile(name) {
			return &ForeignError{Dir: dir, Holds: name}
		}
	}
	return nil
}

// checkExists rejects a directory that is missing or empty.
func checkExists(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store's folder %s cannot be read: %w", dir, err)
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !isLockFile(name) }) {
		return fmt.Errorf("%w in %s", ErrNoStore, dir)
	}
	return nil
}

// isLockFile reports whether a file may exist before the format file does.
func isLockFile(name string) bool {
	return slices.Contains([]string{lockFile, holderFile, holderFile + ".new", formatFile + ".new"}, name)
}

// lockError returns why locking the directory failed: the lock file cannot be created, or another process
// has the lock.
func lockError(fsys vfs.FS, dir string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok || errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return fmt.Errorf("the store's folder %s cannot be written to: %w", dir, err)
	}
	held := &InUseError{Dir: dir}
	if data, unread := readWhole(fsys, dir, holderFile); unread == nil {
		held.PID, _ = strconv.Atoi(strings.TrimSpace(data))
	}
	return held
}

// release unlocks the directory.
func (l *folderLock) release() error {
	if l.reader {
		return l.folder.Close()
	}
	return errors.Join(ignoreMissing(l.fs.Remove(path.Join(l.dir, holderFile))), l.folder.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeWhole replaces a small file atomically: after a crash either the old or the new contents are there.
func writeWhole(fs vfs.FS, dir, name, content string) error {
	fresh := path.Join(dir, name+".new")
	f, err := fs.Create(fresh, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(fresh, path.Join(dir, name)); err != nil {
		return err
	}
	return syncFolder(fs, dir)
}

func syncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
