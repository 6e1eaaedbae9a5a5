package neutrontest

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a program the leader of a new process group. When the starting process ends, the kernel
// kills the leader by this signal, and Neutron's child processes end because they watch their parent.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a program and all its children. It ignores that they may have ended already.
func killGroup(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
