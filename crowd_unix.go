//go:build unix

package bowline

import "syscall"

// keptFiles is how many open files are left for what is not a connection: most are the store's, which could write nothing
// without. Where a process may have few, it is half of them.
const keptFiles = 1024

// roomForConnections is how many connections a process may have open: by its hard limit of files, to which Go raises the other.
func roomForConnections() int {
	const most = 1 << 20 // where there is no limit
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	limit := int(min(uint64(files.Cur), most))
	return limit - min(keptFiles, limit/2)
}
