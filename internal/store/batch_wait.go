package store

import (
	"runtime"
	"sync/atomic"
	"time"
)

// batchWait decides how long the next batch for the log waits for more proposals. Writers that just received a
// response are likely to commit again. If the next batch does not wait for them, it contains only the other half of
// the writers, and each writer waits for two appends per commit. Only drain uses a batchWait, except for queued.
type batchWait struct {
	// queued is the number of proposals that wait for the log.
	queued atomic.Int32
	// skip is the number of the next batches that do not wait, because most writers of an earlier batch did not
	// commit again in time.
	skip int
}

const (
	// A batch waits until no proposal has arrived for maxPatience, or for 1/patienceDivisor of the duration of the
	// last append if that is less.
	maxPatience     = 100 * time.Microsecond
	patienceDivisor = 8
	// maxYields bounds the wait if the clock stands still, as in a testing/synctest bubble.
	maxYields = 1 << 11
	// skipBatches is small, so that waiting resumes soon after writers begin to commit again in time.
	skipBatches = 3
)

// wait waits for the writers of the last batch to commit again, if there are several and they usually do. resolved is
// the number of these writers, and took the duration of their append. A single writer never waits.
func (w *batchWait) wait(resolved int, took time.Duration) {
	expected := int32(resolved) + w.queued.Load()
	if expected < 2 {
		return
	}
	if w.skip > 0 {
		w.skip--
		return
	}
	queued := w.awaitQueued(expected, min(took/patienceDivisor, maxPatience))
	if missing := expected - queued; missing > int32(resolved)/2 {
		w.skip = skipBatches
	}
}

// awaitQueued yields the processor until the expected number of proposals is queued, or none has arrived for the
// duration of patience. It returns the number of queued proposals. It does not sleep, because timers are too coarse.
func (w *batchWait) awaitQueued(expected int32, patience time.Duration) (queued int32) {
	queued, last := w.queued.Load(), time.Now()
	for range maxYields {
		if queued >= expected {
			break
		}
		runtime.Gosched()
		if now := w.queued.Load(); now > queued {
			queued, last = now, time.Now()
		} else if time.Since(last) > patience {
			break
		}
	}
	return queued
}
