//go:build !linux

package capacity

import "math"

// ofProcess returns no limit: those of the process are read on Linux only.
func ofProcess() int64 { return math.MaxInt64 }
