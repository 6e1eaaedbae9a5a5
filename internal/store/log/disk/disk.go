// Package disk implements a persistent log on one machine's disk. It writes through Pebble: a write-ahead log
// that is synced before a commit is acknowledged, and sorted tables that a background job creates from it. A
// directory has one writer, or any number of readers, at a time. docs/store.md illustrates its layout.
//
// Since the store holds all live objects in memory, a log is written continuously and read once, by Load.
// Each state is written once, under its key and revision (layout.go); replaced states are deleted when they
// leave the store's history (trim.go).
//
// The log trusts its disk until the first failure: guard documents what happens then, and repair.go how the
// log recovers.
package disk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Log is a log.Log in a directory.
type Log struct {
	dir     string
	options Options
	lock    *folderLock

	// current is the last durable revision that Append has acknowledged; before is the store's argument of
	// the last Compact.
	current, before atomic.Uint64
	// trimmed is the last revision whose entry was deleted.
	trimmed object.Revision

	// mu is held during appends and while the database is replaced.
	mu      sync.Mutex
	db      *pebble.DB
	guard   *guard
	failure error // why appends are rejected; nil while they are accepted
	// last is the entry of the current revision.
	last  []byte
	bound vfs.File // see boundFile; nil if it cannot be written
	ended bool
	// scratch holds buffers that appends reuse.
	scratch struct{ key, value []byte }

	// compact notifies the keep goroutine that there is something to trim.
	compact chan struct{}
	work    sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

var _ log.Log = (*Log)(nil)

// Open opens the log in a directory, creating both if they do not exist. A directory with foreign files or a
// newer layout is left unchanged. Open returns *InUseError if another process has the directory open.
func Open(dir string, options Options) (*Log, error) {
	options = options.filled()
	lock, err := options.enter(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, options: options, lock: lock, compact: make(chan struct{}, 1)}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// begin opens the database and locates the current revision.
func (l *Log) begin() error {
	if err := l.prepare(); err != nil {
		return err
	}
	err := l.openAny()
	if err == nil {
		if err = l.locate(); err == nil {
			err = l.mustEndRight()
		}
		if err != nil {
			err = errors.Join(err, l.db.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	return nil
}

// openAny opens the database. If the disk is too full to open it for writing, openAny opens it read-only: the
// log rejects writes until keep finds that there is room.
func (l *Log) openAny() (err error) {
	if l.options.ReadOnly {
		l.failure = fmt.Errorf("the store in %s is open for reading alone", l.dir)
		l.db, l.guard, err = l.open(true)
		return err
	}
	if err := l.inspect(); err != nil {
		return err
	}
	l.db, l.guard, err = l.open(false)
	if err == nil {
		if err = l.guard.err(); err == nil {
			return nil
		}
		err = errors.Join(err, l.db.Close())
	}
	if !isFull(err) {
		return err
	}
	var unread error
	if l.db, l.guard, unread = l.open(true); unread != nil {
		return errors.Join(err, unread)
	}
	l.guard.stop(err)
	_ = l.fail(err)
	return nil
}

// locate determines the current revision and the revision before the oldest entry.
func (l *Log) locate() error {
	base, last, err := newest(l.db)
	if errors.Is(err, pebble.ErrNotFound) {
		return &fileError{"its list of files (MANIFEST-*) is cut short", "put it back", err}
	}
	if err != nil {
		return l.located(err)
	}
	current := base
	l.last = nil
	if last != nil {
		current = last.revision
		l.last = last.data
	}
	l.current.Store(uint64(current))
	l.trimmed, err = beforeFirst(l.db, current)
	return l.located(err)
}

// Instant returns false: Append waits for the disk.
func (l *Log) Instant() bool { return false }

// Append writes the commits with a single sync.
func (l *Log) Append(_ context.Context, commits []log.Commit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return l.failure
	}
	current := object.Revision(l.current.Load())
	for i := range commits {
		current++
		if got := commits[i].Revision; got != current {
			return fmt.Errorf("disk log: commit %d in the place of %d", got, current)
		}
	}
	batch := l.db.NewBatch()
	defer batch.Close()
	if err := l.write(batch, commits); err != nil {
		return fmt.Errorf("disk log: %w", err)
	}
	if err := l.apply(batch); err != nil {
		return l.fail(err)
	}
	l.last = append(l.last[:0], l.scratch.value...)
	l.acknowledge(current)
	return nil
}

// write adds commits to a batch: all states before the entries, because the database inserts a key faster
// next to the previous one. Afterwards scratch.value holds the last entry.
func (l *Log) write(batch *pebble.Batch, commits []log.Commit) error {
	s := &l.scratch
	for i := range commits {
		for _, c := range commits[i].Changes {
			s.key = appendVersionKey(s.key[:0], c.Key, commits[i].Revision)
			s.value = appendState(s.value[:0], s.key, c.Object)
			if err := batch.Set(s.key, s.value, nil); err != nil {
				return err
			}
		}
	}
	now := time.Now()
	for i := range commits {
		s.key = appendEntryKey(s.key[:0], commits[i].Revision)
		s.value = appendEntry(s.value[:0], now, &commits[i])
		if err := batch.Set(s.key, s.value, nil); err != nil {
			return err
		}
	}
	return nil
}

// apply makes a batch durable. A success reported by the database counts only if its file system has not
// failed.
func (l *Log) apply(batch *pebble.Batch) error {
	if err := l.guard.err(); err != nil {
		return err
	}
	if err := l.db.Apply(batch, pebble.Sync); err != nil {
		l.guard.stop(err)
	}
	return l.guard.err()
}

// fail rejects appends until keep has repaired the log, and returns the error for callers. The caller holds
// mu.
func (l *Log) fail(cause error) error {
	if l.failure == nil {
		l.options.Log.Error("the disk failed: writes are rejected until it works again", "folder", l.dir, "error",
			cause.Error())
		l.failure = l.unavailable(cause)
	}
	return l.failure
}

// unavailable returns the error for writers.
func (l *Log) unavailable(cause error) error {
	if isFull(cause) {
		return &log.FullError{Medium: l.dir, Err: cause}
	}
	return &log.FailedError{Medium: l.dir, Err: cause}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Health returns why appends are currently rejected, or nil if they are accepted. Reads do not depend on it.
func (l *Log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Follow returns immediately: there are no other writers.
func (l *Log) Follow(context.Context, object.Revision, func(log.Commit) error) error { return nil }

// Current returns the revision of the last durable commit.
func (l *Log) Current(context.Context) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Close stops the background work and unlocks the directory.
func (l *Log) Close() error {
	l.stop()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	l.failure = errors.New("the disk log is closed")
	var err error
	if l.bound != nil {
		err = l.bound.Close()
	}
	if l.db != nil {
		// Flush, because damage at the end of a write-ahead log is indistinguishable from a torn write, while
		// damage in tables is always detected.
		if l.guard.err() == nil && !l.options.ReadOnly {
			err = errors.Join(err, l.db.Flush())
		}
		err = errors.Join(err, l.db.Close(), l.guard.err())
	}
	if err = errors.Join(err, l.lock.release()); err != nil {
		return fmt.Errorf("closing the store in %s: %w", l.dir, err)
	}
	return nil
}
