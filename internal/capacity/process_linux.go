package capacity

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// unmapped is the address space that is reserved for what the process maps later without using it: stacks of threads,
// and Go's heap, which grows by 64 MiB at a time.
const unmapped = 192 << 20

// ofProcess returns the memory that the limits of the process's data and address space leave for use.
func ofProcess() int64 {
	least := int64(math.MaxInt64)
	if bytes, ok := resourceLimit(syscall.RLIMIT_DATA); ok {
		least = bytes
	}
	if bytes, ok := resourceLimit(syscall.RLIMIT_AS); ok {
		least = min(least, max(bytes-mappedUnused()-unmapped, bytes/4))
	}
	return least
}

func resourceLimit(resource int) (bytes int64, ok bool) {
	var l syscall.Rlimit
	err := syscall.Getrlimit(resource, &l)
	return int64(l.Cur), err == nil && l.Cur < math.MaxInt64
}

// mappedUnused returns the address space that the process has mapped and does not use; 0 if it is unknown.
func mappedUnused() int64 {
	var pages, resident int64
	data, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(data), &pages, &resident)
	}
	if err != nil {
		return 0
	}
	return (pages - resident) * int64(os.Getpagesize())
}
