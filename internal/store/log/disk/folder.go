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

// InUseError says that another process, or another log of this one, has the folder open.
type InUseError struct {
	Dir string
	// PID is the holder's process, 0 where it did not say.
	PID int
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the store in %s is in use by another process: end it, or use another folder", e.Dir)
	}
	return fmt.Sprintf("the store in %s is in use by process %d: end it, or use another folder", e.Dir, e.PID)
}

// ForeignError says that a folder holds something that no store put there. It was left as it is.
type ForeignError struct {
	Dir string
	// Holds is one of the names that were found.
	Holds string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not a store's folder: it holds %s, and no %s; nothing in it was touched: use an empty or a new folder",
		e.Dir, e.Holds, formatFile)
}

// ErrNoStore is returned where a store must be and none is: there is no folder, or an empty one. None was made.
var ErrNoStore = errors.New("there is no store")

// IncompleteError says that a file of a store is not there, without which it would begin anew, or be another's. It was left as it
// is.
type IncompleteError struct{ Dir, File, Holds string }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the store in %s is not complete: the file %s is missing, which holds %s: put it back, or restore a backup",
		e.Dir, e.File, e.Holds)
}

const (
	lockFile   = "LOCK"   // whose lock is the folder's
	holderFile = "HOLDER" // the process that has it
	formatFile = "FORMAT" // see format.go
)

// folderLock is the right to use a folder.
type folderLock struct {
	fs     vfs.FS
	dir    string
	folder *pebble.Lock
	reader bool // which wrote no holder
}

// enter takes the folder as the options say.
func (o Options) enter(dir string) (*folderLock, error) {
	if o.MustExist || o.ReadOnly {
		if err := mustExist(o.FS, dir); err != nil {
			return nil, err
		}
	}
	if o.ReadOnly {
		return enterToRead(o.FS, dir)
	}
	return enter(o.FS, dir)
}

// enter takes the folder, which is made if need be. It touches none that is not a store's.
func enter(fs vfs.FS, dir string) (*folderLock, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store's folder cannot be made: %w", err)
	}
	if err := mustBeOurs(fs, dir); err != nil {
		return nil, err
	}
	folder, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, notEntered(fs, dir, err)
	}
	l := &folderLock{fs: fs, dir: dir, folder: folder}
	if err := writeWhole(fs, dir, holderFile, strconv.Itoa(os.Getpid())+"\n"); err != nil && !isFull(err) {
		return nil, errors.Join(fmt.Errorf("the store's folder %s cannot be written to: %w", dir, err), l.release())
	}
	return l, nil
}

// mustBeOurs refuses a folder with files but without a format: a store has lost its own, or it is somebody else's.
func mustBeOurs(fsys vfs.FS, dir string) error {
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
		if !ours(name) {
			return &ForeignError{Dir: dir, Holds: name}
		}
	}
	return nil
}

// mustExist refuses a folder that is not there, or is empty.
func mustExist(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store's folder %s cannot be read: %w", dir, err)
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !ours(name) }) {
		return fmt.Errorf("%w in %s", ErrNoStore, dir)
	}
	return nil
}

// ours says whether a file may be there before the format is.
func ours(name string) bool {
	return slices.Contains([]string{lockFile, holderFile, holderFile + ".new", formatFile + ".new"}, name)
}

// notEntered says why a folder's lock was not taken: its file cannot be made, or somebody has it.
func notEntered(fsys vfs.FS, dir string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok || errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return fmt.Errorf("the store's folder %s cannot be written to: %w", dir, err)
	}
	held := &InUseError{Dir: dir}
	if data, unread := readWhole(fsys, dir, holderFile); unread == nil {
		held.PID, _ = strconv.Atoi(strings.TrimSpace(data))
	}
	return held
}

// release gives the folder free.
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

// writeWhole replaces a small file so that a crash leaves the old one or the new one.
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
