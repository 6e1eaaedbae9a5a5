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
	// skip is how many batches go at once, since most writers did not come back for the one before them.
	skip int
}

const (
	// maxPatience bounds how long a batch waits since the last proposal came; a fraction of what the log takes bounds it too.
	maxPatience      = 100 * time.Microsecond
	patienceFraction = 8
	// maxYields bounds it where the clock stands still, as in a bubble of testing/synctest.
	maxYields = 1 << 11
	// skipped is small, so that writers who begin to keep up are noticed soon.
	skipped = 3
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
	there := g.until(expected, min(took/patienceFraction, maxPatience))
	if missing := expected - there; missing > int32(answered)/2 {
		g.skip = skipped
	}
}

// until lets others run until as many proposals wait as are expected, or none came for some time, and returns how many wait. It
// does not sleep: timers are too coarse for this.
func (g *gathering) until(expected int32, patience time.Duration) (there int32) {
	there, last := g.queued.Load(), time.Now()
	for range maxYields {
		if there >= expected {
			break
		}
		runtime.Gosched()
		if now := g.queued.Load(); now > there {
			there, last = now, time.Now()
		} else if time.Since(last) > patience {
			break
		}
	}
	return there
}
