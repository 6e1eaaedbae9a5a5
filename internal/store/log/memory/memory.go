// Package memory is the log of a store that lives as long as its process: nothing is written anywhere, and a store on a
// new one begins empty.
package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/object"
)

// Log counts revisions; the store has everything else. It makes no goroutine.
type Log struct {
	current atomic.Uint64
}

var _ log.Log = (*Log)(nil)

// New makes a log whose revisions begin at object.FirstRevision.
func New() *Log { return at(object.FirstRevision(time.Now())) }

// After makes a log for a store that goes on with a state of another one, at that one's revision: its own revisions begin an
// epoch above it.
func After(revision object.Revision) *Log { return at(object.NextEpoch(revision, time.Now())) }

func at(revision object.Revision) *Log {
	l := new(Log)
	l.current.Store(uint64(revision))
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
