package nginx

import "syscall"

// endWithParent makes the kernel stop nginx gracefully when the controller's process ends for any reason.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
