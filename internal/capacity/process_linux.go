package capacity

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// Go's heap grows by 64 MiB at a time, which count as data at once. mapped is reserved for the last such part and for
// Go's tables about it. unused is the address space that is reserved for it, for the stacks of threads, and for what
// the process maps after its start and does not use.
const mapped, unused = 96 << 20, 1 << 30

// ofProcess returns the memory that the limits of the process's data and address space leave for use.
func ofProcess() int64 {
	least := int64(math.MaxInt64)
	if bytes, ok := resourceLimit(syscall.RLIMIT_DATA); ok {
		least = max(bytes-mapped, bytes/2)
	}
	if bytes, ok := resourceLimit(syscall.RLIMIT_AS); ok {
		least = min(least, max(bytes-mappedUnused()-unused, bytes/8))
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
