package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// keepGarbage collects none, unless the user bounded it, until boundGarbage is called: nearly all that a start reads from disk
// stays, and to look through a heap that only grows would be a quarter of the work.
func keepGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(-1)
	}
}

// boundGarbage bounds how much garbage the process may hold to less than the runtime's own 100 percent of what lives, unless
// its user did. Nearly all that lives here are stored objects, which stay, and so the more there are, the less often a
// collection comes, and the more memory waits for it: the share shrinks as the heap grows.
func boundGarbage() {
	if os.Getenv("GOGC") == "" {
		followHeap(0)
	}
}

// followHeap sets the share of garbage by what lives now, and again after the next collection, which is when that is known anew.
func followHeap(before int) {
	percent := garbagePercent(liveHeap())
	if percent != before {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(collected), followHeap, percent)
}

// collected is an object that nobody holds, so that the next collection finds it.
type collected struct{ _ *collected }

// liveHeap is how many bytes the last collection left.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// garbagePercent is the share of garbage that a heap may hold. With 100,000 objects of 1 KiB 70 percent take a sixth less memory
// than 100 would, with a million 55 percent a tenth less than 70 would. What collections cost a create does not grow with the
// heap, only as the share shrinks (in bench/: go run . -row '00,000|1 M', with GOGC=100, GOGC=70, and without).
func garbagePercent(live uint64) int {
	switch {
	case live < 512<<20:
		return 70
	case live < 2<<30:
		return 55
	}
	return 40
}
