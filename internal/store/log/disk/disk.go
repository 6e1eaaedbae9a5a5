// Package disk is the log of a store that outlives its process, on one machine's disk. What it writes goes through Pebble:
// a write-ahead log that is synced before a commit counts, and sorted tables that a background job makes of it. A folder has
// one writer at a time, or any number of readers. docs/store.md draws what is in it.
//
// Everything live is in the store's memory, so a log is written all the time and read once, by Load. A state is written once,
// by its key and revision (layout.go); the states that others replaced go when the history of the store lets go of them
// (trim.go).
//
// The log trusts its disk until that fails: see guard for what happens then, and repair.go for how it goes on.
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

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/object"
)

// Log is a log.Log in a folder.
type Log struct {
	dir     string
	options Options
	lock    *folderLock

	// current is the last durable revision that Append has acknowledged, and before the store's in Compact.
	current, before atomic.Uint64
	// trimmed is the last revision whose entry has gone.
	trimmed object.Revision

	// mu is held while something is appended, and while the database changes hands.
	mu      sync.Mutex
	db      *pebble.DB
	guard   *guard
	failure error // why nothing can be appended; nil while it can
	// last is the entry of the current revision.
	last  []byte
	bound vfs.File // see boundFile; nil where it cannot be written
	ended bool
	// scratch are buffers that appends use again.
	scratch struct{ key, value []byte }

	// compact tells the keeper that there is something to trim.
	compact chan struct{}
	work    sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

var _ log.Log = (*Log)(nil)

// Open opens the log in a folder, and makes both where there is none. A folder that holds anything else, or what a newer
// program wrote, is left as it is. *InUseError when another process has it.
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

// begin opens the database, and says where the log stands.
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

// openAny opens the database. Where that needs room which is not there, it opens what can be read: the log refuses writes until
// the keeper finds room.
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

// locate finds the current revision, and the one before the oldest entry.
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

// Instant is false: a disk takes its time.
func (l *Log) Instant() bool { return false }

// Append writes the commits, and syncs once for all of them.
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

// write adds commits to a batch: all states before the entries, since the database finds the place of a key faster beside the one
// before. The last entry is in scratch.value then.
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

// apply makes a batch durable. What the database believes counts only as long as its file system has not failed.
func (l *Log) apply(batch *pebble.Batch) error {
	if err := l.guard.err(); err != nil {
		return err
	}
	if err := l.db.Apply(batch, pebble.Sync); err != nil {
		l.guard.stop(err)
	}
	return l.guard.err()
}

// fail lets nothing be appended until the keeper has repaired the log, and returns what callers are told. mu is held.
func (l *Log) fail(cause error) error {
	if l.failure == nil {
		l.options.Log.Error("the disk failed: nothing is written until it works again", "folder", l.dir, "error", cause.Error())
		l.failure = l.unavailable(cause)
	}
	return l.failure
}

// unavailable is what writers are told.
func (l *Log) unavailable(cause error) error {
	if isFull(cause) {
		return &log.FullError{Medium: l.dir, Err: cause}
	}
	return &log.FailedError{Medium: l.dir, Err: cause}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Health is why nothing can be appended at present; nil when all is well. Reads do not depend on it.
func (l *Log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Follow returns at once: nobody else writes to the folder.
func (l *Log) Follow(context.Context, object.Revision, func(log.Commit) error) error { return nil }

// Current is the revision of the last durable commit.
func (l *Log) Current(context.Context) (object.Revision, error) {
	return object.Revision(l.current.Load()), nil
}

// Close ends the work in the background and gives the folder free.
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
		// The end of a write-ahead log may be torn, and damage there looks like that: what is in tables is told for sure.
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
