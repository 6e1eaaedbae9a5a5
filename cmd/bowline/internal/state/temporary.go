package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Names of temporary folders and of the lock file in them. They differ from those of a state folder, which must
// never be removed.
const (
	temporaryPrefix = "bowline-ephemeral-"
	temporaryLock   = "ephemeral-lock"
)

// Temporary is a folder for the files of a server that keeps no state. Its lock tells other processes that the
// server runs.
type Temporary struct {
	Folder Folder
	lock   *os.File
}

// NewTemporary creates a folder in os.TempDir. The caller removes it.
func NewTemporary() (*Temporary, error) {
	path, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return nil, fmt.Errorf("creating a temporary folder: %w", err)
	}
	t := &Temporary{Folder: Folder(path)}
	t.lock, err = os.OpenFile(t.Folder.path(temporaryLock), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err == nil {
		// RemoveLeftovers of another process may hold the lock. It leaves the folder alone while the file is empty.
		err = syscall.Flock(int(t.lock.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		_, err = fmt.Fprintln(t.lock, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating a temporary folder: %w", err), t.Remove())
	}
	return t, nil
}

// Remove removes the folder and releases its lock.
func (t *Temporary) Remove() error {
	err := os.RemoveAll(string(t.Folder))
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close())
	}
	return err
}

// RemoveLeftovers removes the temporary folders of this user whose server was killed: each holds the key of an
// administrator. It ignores errors, because the next start tries again.
func RemoveLeftovers() {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*"))
	if err != nil { // the path of os.TempDir is no pattern
		return
	}
	for _, folder := range folders {
		_ = removeLeftover(folder)
	}
}

// removeLeftover removes a temporary folder of this user unless its server runs, or has not written to its lock
// file yet.
func removeLeftover(folder string) error {
	info, err := os.Lstat(folder)
	if err == nil {
		err = checkOwner(folder)
	}
	if err != nil || !info.IsDir() {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(folder, temporaryLock), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is not one of ours, or was created just now
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if info, err = lock.Stat(); err != nil || info.Size() == 0 {
		return err
	}
	return os.RemoveAll(folder)
}
