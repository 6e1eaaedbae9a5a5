package nginx

import "syscall"

// endWithParent has the kernel end nginx gracefully when the controller's process dies, however it does.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
