//go:build unix

package https

import "syscall"

// reservedFiles is the number of file descriptors reserved for everything but connections, mainly the store,
// which cannot write without them. If the limit is low, half of it is reserved.
const reservedFiles = 1024

// MaxConnections returns the maximum number of open connections, derived from the hard limit of open
// files, to which the Go runtime raises the soft limit.
func MaxConnections() int {
	const most = 1 << 20 // without a limit
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	limit := int(min(uint64(files.Cur), most))
	return limit - min(reservedFiles, limit/2)
}
