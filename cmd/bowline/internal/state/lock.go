package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Holder is the process that serves from a folder.
type Holder struct {
	PID int `json:"pid"`
	// Address is the URL at which it serves, and Kubeconfig the file that says how to; both empty until it is ready.
	Address    string `json:"address,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// HeldError says that another process serves from the folder.
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
		where = " and serves " + e.Holder.Address
	}
	return fmt.Sprintf("the state folder %s is in use: %s holds it%s; stop that one first, "+
		"or start this one with --ephemeral (or another --data) and another --listen", e.Folder, who, where)
}

// Lock is the right to serve from a folder. The kernel takes it back when the process ends, however it ends.
type Lock struct{ file *os.File }

// Lock makes the folder where it is missing and takes its lock, or returns a *HeldError at once, or a *ForeignFolderError. A
// lock that bowline did not make is left as it is.
func (f Folder) Lock() (*Lock, error) {
	if err := f.prepare(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.path("lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, fileMode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, f.foreignLock()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the state folder: %w", err)
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

// announced says whether a file is what Announce writes, as far as a crash leaves it whole: empty, JSON, or zeros. Anything else
// named lock is another program's, and is not written over.
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
	return fmt.Errorf("the file %s is a link or another program's, and was left as it is: move it away, or name another folder "+
		"with --data", f.path("lock"))
}

// Share keeps the folder from servers until it is closed, and changes nothing in it; others may do so at the same time. It
// returns a *HeldError when a server has it. A folder without a lock was never a server's, or was copied.
func (f Folder) Share() (io.Closer, error) {
	file, err := os.Open(f.path("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the state folder: %w", err)
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

// Announce tells others who holds the lock and where it serves.
func (l *Lock) Announce(holder Holder) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("writing who holds the state folder: %w", err)
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("writing who holds the state folder: %w", err)
	}
	return nil
}

// Release gives the lock back. The file stays: removing it would let two processes lock two files of one name.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Running returns the process that serves from the folder; ok is false when nobody does.
func (f Folder) Running() (holder Holder, ok bool, err error) {
	lock, err := f.Share()
	if held, taken := errors.AsType[*HeldError](err); taken {
		return held.Holder, true, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("looking for a running server: %w", err)
	}
	return Holder{}, false, lock.Close()
}

// holderOf is who keeps a lock from a server: another server; or who only reads, and announces nothing, so that what the file says
// is of a server that has ended.
func holderOf(file *os.File) Holder {
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return Holder{}
	}
	return readHolder(file)
}

// readHolder reads what the holder announced. It may be writing just now: what cannot be read is left empty.
func readHolder(file *os.File) Holder {
	var holder Holder
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<16))
	if err != nil || json.Unmarshal(text, &holder) != nil {
		return Holder{}
	}
	return holder
}
