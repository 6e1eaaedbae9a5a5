// Package memory implements a log without persistence, for a store that lives as long as its process. A store
// on a new log is empty.
package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Log counts revisions; the store holds everything else. It starts no goroutine.
type Log struct {
	current atomic.Uint64
}

var _ log.Log = (*Log)(nil)

// New returns a log whose revisions start at object.FirstRevision.
func New() *Log { return at(object.FirstRevision(time.Now())) }

// After returns a log for a store that continues from the state of another one at the given revision. Its own
// revisions start one epoch above it.
func After(revision object.Revision) *Log { return at(object.NextEpoch(revision, time.Now())) }

func at(revision object.Revision) *Log {
	l := new(Log)
	l.current.Store(uint64(revision))
	return l
}

// Load returns the current revision; there are no contents.
func (l *Log) Load(context.Context, log.Loading) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Instant returns true: Append never blocks.
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

// Follow returns immediately: there are no other writers.
func (l *Log) Follow(context.Context, object.Revision, func(log.Commit) error) error { return nil }

// Current returns the revision of the last commit.
func (l *Log) Current(context.Context) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Compact does nothing: the log stores no history.
func (l *Log) Compact(object.Revision) {}

// Close does nothing.
func (l *Log) Close() error { return nil }
