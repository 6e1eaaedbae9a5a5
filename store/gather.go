package store

import (
	"runtime"
	"sync/atomic"
	"time"
)

// gathering decides how long the next batch for the log waits for more. Writers that were just answered are about to commit
// again: a batch that goes without them leaves them waiting for two turns of the log, and half of the writers share each.
// Only the drain uses it, but for queued.
type gathering struct {
	// queued is how many proposals wait for the log.
	queued atomic.Int32
	// misses is how often in a row the writers did not come back in time, and skip how many batches go at once for that.
	misses, skip int
}

const (
	// maxPatience bounds how long a batch waits since the last proposal came; a fraction of what the log takes bounds it too.
	maxPatience      = 100 * time.Microsecond
	patienceFraction = 8
	// maxYields bounds it where the clock stands still, as in a bubble of testing/synctest.
	maxYields = 1 << 11
	// maxMisses bounds the skipped batches to 1<<maxMisses, so that writers who begin to keep up are noticed soon.
	maxMisses = 6
)

// wait lets the writers of a batch that the log took some time for come back, if there are several and if they do. A lone
// writer never waits.
func (g *gathering) wait(answered int, took time.Duration) {
	expected := int32(answered) + g.queued.Load()
	if expected < 2 {
		return
	}
	if g.skip > 0 {
		g.skip--
		return
	}
	if g.reached(expected, min(took/patienceFraction, maxPatience)) {
		g.misses = 0
		return
	}
	g.misses = min(g.misses+1, maxMisses)
	g.skip = 1<<g.misses - 2
}

// reached lets others run until as many proposals wait as were expected, or none came for some time. It does not sleep: timers
// are too coarse for this.
func (g *gathering) reached(expected int32, patience time.Duration) bool {
	there, last := g.queued.Load(), time.Now()
	for range maxYields {
		if there >= expected {
			return true
		}
		runtime.Gosched()
		if now := g.queued.Load(); now > there {
			there, last = now, time.Now()
		} else if time.Since(last) > patience {
			return false
		}
	}
	return false
}
