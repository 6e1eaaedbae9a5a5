package main

import (
	"os"
	"runtime/debug"
)

// garbagePercent bounds garbage to less than the runtime's own 100 percent of what lives. Nearly all that lives here are
// stored objects, which stay: with 100,000 of them the process is a sixth smaller, and what it costs a create is less
// than runs differ (in bench/: go run . -row '100,000|create.*16', with GOGC=100 and without).
const garbagePercent = 70

// boundGarbage sets how much garbage the process may hold, unless its user did.
func boundGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
