//go:build linux || darwin

package nginx

import (
	"errors"
	"os"
	"syscall"
)

// errLocked is that somebody else has a lock.
var errLocked = errors.New("it is locked")

// supported says whether nginx can be run here.
func supported() error { return nil }

// tryLock locks a file until every process that has this opening of it has closed it, or ended.
func tryLock(f *os.File) error {
	err := lock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// awaitLock is tryLock, but waits for who has it.
func awaitLock(f *os.File) error { return lock(f, syscall.LOCK_EX) }

func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// attributes put nginx into a process group of its own, whose id is its pid: what the terminal signals is not for it, and its
// workers can be found.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(a)
	return a
}

// killGroup ends a process and those that it has started, at once.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}
