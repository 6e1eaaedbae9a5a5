package nginx

import "syscall"

// endWithParent does nothing. On this system the next controller of the folder kills an nginx that remains.
func endWithParent(*syscall.SysProcAttr) {}
