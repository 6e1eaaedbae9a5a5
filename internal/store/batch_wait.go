package store

import (
	"runtime"
	"sync/atomic"
	"time"
)

// batchWait decides how long the next batch for the log waits for more proposals. Writers that just received
// a response are likely to commit again; a batch that does not wait for them makes them wait for two appends,
// with half of the writers in each. Only drain uses it, except for queued.
type batchWait struct {
	// queued is the number of proposals that wait for the log.
	queued atomic.Int32
	// skip is the number of batches that do not wait, because most writers did not return for an earlier one.
	skip int
}

const (
	// maxPatience bounds the wait since the last proposal arrived, as does a fraction of the duration of the
	// append.
	maxPatience      = 100 * time.Microsecond
	patienceFraction = 8
	// maxYields bounds the wait if the clock stands still, as in a testing/synctest bubble.
	maxYields = 1 << 11
	// skipBatches is small, so that it is soon detected when writers return in time.
	skipBatches = 3
)

// wait lets the writers of the last batch return, if there are several and they usually do. A single writer
// never waits.
func (g *batchWait) wait(answered int, took time.Duration) {
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
		g.skip = skipBatches
	}
}

// until yields until the expected number of proposals is queued, or none has arrived for some time, and
// returns the number queued. It does not sleep, because timers are too coarse.
func (g *batchWait) until(expected int32, patience time.Duration) (there int32) {
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
