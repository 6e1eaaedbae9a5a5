//go:build !linux && !darwin

package nginx

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("it is locked")

func supported() error {
	return errors.New("the nginx controller runs on Linux and macOS: it needs file locks and signals")
}

func tryLock(*os.File) error           { return supported() }
func awaitLock(*os.File) error         { return supported() }
func attributes() *syscall.SysProcAttr { return nil }
func killGroup(int) error              { return supported() }
