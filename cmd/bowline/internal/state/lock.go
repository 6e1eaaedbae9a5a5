package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/bowline-dev/bowline/internal/durable"
)

// Holder describes the process that serves from a folder.
type Holder struct {
	PID int `json:"pid"`
	// Address is the URL of the server, and Kubeconfig the path of its kubeconfig. Both are empty until the
	// server is ready.
	Address    string `json:"address,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// HeldError reports that another process holds the lock of the folder.
type HeldError struct {
	Folder Folder
	Holder Holder
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.Holder.PID > 0 {
		who = fmt.Sprintf("process %d", e.Holder.PID)
	}
	where := ""
	if e.Holder.Address != "" {
		where = ", which serves " + e.Holder.Address
	}
	return fmt.Sprintf("the state folder %s is in use by %s%s: stop that server first, "+
		"or start this one with --ephemeral (or another --data) and another --listen", e.Folder, who, where)
}

// Lock is the exclusive right to serve from a folder. The kernel releases it when the process ends for any
// reason.
type Lock struct{ file *os.File }

// Lock creates the folder if it is missing, and acquires its lock without blocking. It returns a *HeldError
// if another process holds the lock, a *ForeignFolderError, or an *OwnerError. A lock file that bowline did not
// write is left unchanged, and is an error.
func (f Folder) Lock() (*Lock, error) {
	if err := f.prepare(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.path("lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, fileMode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, f.foreignLock()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock file of the state folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = &HeldError{Folder: f, Holder: holderOf(file)}
	case err != nil:
		err = fmt.Errorf("locking the state folder %s: %w", f, err)
	case !announced(file):
		err = f.foreignLock()
	}
	lock := &Lock{file: file}
	if err == nil {
		err = lock.Announce(Holder{PID: os.Getpid()})
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return lock, nil
}

// announced reports whether the content of a lock file can be from Announce: empty, JSON, or zeros, which a
// crash can leave. Any other file named lock belongs to another program and must not be overwritten.
func announced(file *os.File) bool {
	var first [1]byte
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = file.ReadAt(first[:], 0)
	return errors.Is(err, io.EOF) || err == nil && (first[0] == '{' || first[0] == 0)
}

func (f Folder) foreignLock() error {
	return fmt.Errorf("the file %s is a link or belongs to another program, and was not changed: move it away, or "+
		"name another folder with --data", f.path("lock"))
}

// Share acquires a shared lock, which keeps servers from using the folder until it is closed. It changes
// nothing in the folder, and several readers may share it. It returns a *HeldError if a server holds the
// lock, and an *OwnerError if the folder is another user's. A folder without a lock file was never used by a
// server or is a copy, and needs no lock.
func (f Folder) Share() (io.Closer, error) {
	if err := f.checkOwners(); err != nil {
		return nil, err
	}
	return f.share()
}

func (f Folder) share() (io.Closer, error) {
	file, err := durable.Open(f.path("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock file of the state folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &HeldError{Folder: f, Holder: readHolder(file)}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Announce writes the holder and its address to the lock file.
func (l *Lock) Announce(holder Holder) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("writing the lock file of the state folder: %w", err)
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("writing the lock file of the state folder: %w", err)
	}
	return nil
}

// Release releases the lock. It does not remove the file: otherwise two processes could lock two different
// files of the same name.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Running returns the process that serves from the folder. The result ok is false if there is none. It returns
// an *OwnerError if the folder or its lock file is another user's, who could name a kubeconfig in it that
// runs a program.
func (f Folder) Running() (holder Holder, ok bool, err error) {
	for _, path := range []string{string(f), f.path("lock")} {
		if err := checkOwner(path); err != nil {
			return Holder{}, false, fmt.Errorf("looking for a running server: %w", err)
		}
	}
	lock, err := f.share()
	if held, taken := errors.AsType[*HeldError](err); taken {
		return held.Holder, true, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("looking for a running server: %w", err)
	}
	return Holder{}, false, lock.Close()
}

// holderOf returns the process that prevents an exclusive lock. If the lock is only shared, it returns an
// empty Holder: readers do not announce themselves, so the file describes a server that has ended.
func holderOf(file *os.File) Holder {
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return Holder{}
	}
	return readHolder(file)
}

// readHolder reads what the holder announced. It returns an empty Holder if the content is incomplete,
// because the holder may be writing it.
func readHolder(file *os.File) Holder {
	var holder Holder
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<16))
	if err != nil || json.Unmarshal(text, &holder) != nil {
		return Holder{}
	}
	return holder
}
