// Package memory is the log of a store that lives as long as its process: nothing is written anywhere, and a store on a
// new one begins empty.
package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store/log"
)

// Log counts revisions; the store has everything else. It makes no goroutine.
type Log struct {
	current atomic.Uint64
}

var _ log.Log = (*Log)(nil)

// sixteenDigits is the smallest number that is as wide as object.RevisionPlaceholder.
const sixteenDigits = 1_000_000_000_000_000

// New makes a log whose revisions begin at the clock in microseconds. Since no store commits a million times a second
// for long, one that was restarted begins above everything that it served before, and a client that resumes from then
// is told that its revision is gone instead of being answered wrongly. Revisions have 16 digits from the year 2001 on,
// and before it, as in a bubble of testing/synctest, they are lifted to as many.
func New() *Log {
	l := new(Log)
	start := uint64(time.Now().UnixMicro())
	if start < sixteenDigits {
		start += sixteenDigits
	}
	l.current.Store(start)
	return l
}

// After makes a log for a store that goes on with a state of another one, at that one's revision: its own revisions begin an
// epoch above it.
func After(revision object.Revision) *Log {
	l := new(Log)
	l.current.Store(uint64(object.NextEpoch(revision, time.Now())))
	return l
}

// Load hands on nothing.
func (l *Log) Load(context.Context, log.Loading) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Instant is true: there is nothing to wait for.
func (l *Log) Instant() bool { return true }

// Append counts the commits.
func (l *Log) Append(_ context.Context, commits []log.Commit) error {
	for _, c := range commits {
		if !l.current.CompareAndSwap(uint64(c.Revision)-1, uint64(c.Revision)) {
			return fmt.Errorf("memory log: commit %d does not follow %d", c.Revision, l.current.Load())
		}
	}
	return nil
}

// Follow returns at once: nobody else writes to this memory.
func (l *Log) Follow(context.Context, object.Revision, func(log.Commit) error) error { return nil }

// Current is the revision of the last commit.
func (l *Log) Current(context.Context) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Compact has nothing to forget.
func (l *Log) Compact(object.Revision) {}

// Close has nothing to release.
func (l *Log) Close() error { return nil }
