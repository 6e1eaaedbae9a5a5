//go:build linux || darwin

package nginx

import (
	"errors"
	"os"
	"syscall"
)

// errLocked means that another process holds a lock.
var errLocked = errors.New("it is locked")

// supported returns an error if nginx cannot be run on this system.
func supported() error { return nil }

// tryLock locks a file until every process that shares this open file description has closed it or ended.
func tryLock(f *os.File) error {
	err := lock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// awaitLock is like tryLock, but waits for the lock.
func awaitLock(f *os.File) error { return lock(f, syscall.LOCK_EX) }

func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// attributes put nginx into its own process group, whose ID is its PID: signals from the terminal do not
// reach it, and its workers can be found.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(a)
	return a
}

// killGroup kills all processes of a process group.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}
