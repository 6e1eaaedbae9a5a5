package neutrontest

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a program the head of a process group, which the kernel kills when the one that starts it has ended: the
// head by this signal, Neutron's own children because they watch their head.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a program and all that it started. That they have ended is no error.
func killGroup(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
