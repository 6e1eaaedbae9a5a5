// Package disk implements a persistent log on one machine's disk. It writes through Pebble: a write-ahead log
// that is synced before a commit is acknowledged, and sorted tables that a background job creates from it. A
// directory has one writer, or any number of readers, at a time. docs/store.md illustrates its layout.
//
// Since the store holds all live objects in memory, a log is written continuously and read once, by Load.
// Each state is written once, under its key and revision (layout.go); replaced states are deleted when they
// leave the store's history (trim.go).
//
// After the first failure of its disk, the log rejects writes until it has recovered: see guard for what reaches the
// disk in the meantime, and repair.go for the recovery.
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

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Log is a log.Log in a directory.
type Log struct {
	dir *directory

	// current is the last durable revision that Append has acknowledged.
	current atomic.Uint64
	trimmer trimmer

	// mu is held during appends and while the database is replaced.
	mu sync.Mutex
	// db is nil while it is repaired. Only Open and maintain change it.
	db      *database
	failure error // why appends are rejected; nil while they are accepted
	// last is the value of the entry of the current revision.
	last    []byte
	durable durableWriter
	encoder encoder
	closed  bool

	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

var _ log.Log = (*Log)(nil)

// Open opens the log in a directory, creating both if they do not exist. A directory with foreign files or a
// newer layout is left unchanged. Open returns *InUseError if another process has the directory open.
func Open(dir string, options Options) (*Log, error) {
	options = options.filled()
	lock, err := options.lock(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{dir: &directory{path: dir, options: options, lock: lock},
		trimmer: trimmer{notify: make(chan struct{}, 1)}}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// open opens the database and locates the current revision. If the disk is full, the log rejects writes until
// maintain finds that there is room.
func (l *Log) open() error {
	if err := l.dir.prepare(); err != nil {
		return err
	}
	db, err := l.dir.openAny()
	if err != nil {
		return fmt.Errorf("the store in %s: %w", l.dir.path, err)
	}
	l.db = db
	if l.dir.options.ReadOnly {
		l.failure = fmt.Errorf("the store in %s is open read-only", l.dir.path)
	} else if cause := db.guard.err(); cause != nil {
		_ = l.fail(cause)
	}
	var lost *LostError
	if err = l.locate(); err == nil {
		lost, err = l.dir.lost(object.Revision(l.current.Load()))
	}
	if lost != nil {
		err = l.acceptLoss(lost)
	}
	if err != nil {
		return fmt.Errorf("the store in %s: %w", l.dir.path, errors.Join(err, db.kv.Close()))
	}
	return nil
}

// locate determines the current revision and the revision before the oldest entry.
func (l *Log) locate() error {
	found, err := l.db.extent()
	if err != nil {
		return err
	}
	l.current.Store(uint64(found.current))
	l.last, l.trimmer.trimmed = found.entry, found.trimmed
	return nil
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
			return fmt.Errorf("disk log: got commit %d, expected %d", got, current)
		}
	}
	batch := l.db.kv.NewBatch()
	defer batch.Close()
	if err := l.encoder.write(batch, commits); err != nil {
		return fmt.Errorf("disk log: %w", err)
	}
	if err := l.db.apply(batch); err != nil {
		return l.fail(err)
	}
	l.last = append(l.last[:0], l.encoder.value...)
	l.current.Store(uint64(current))
	l.durable.write(current)
	return nil
}

// encoder encodes commits into buffers that appends reuse. The log's mu guards it.
type encoder struct{ key, value []byte }

// write adds commits to a batch: first all states, then all entries, because the database inserts a key faster next
// to the previous one. Afterwards value holds the entry of the last commit.
func (e *encoder) write(batch *pebble.Batch, commits []log.Commit) error {
	for i := range commits {
		for _, c := range commits[i].Changes {
			e.key = appendVersionKey(e.key[:0], c.Key, commits[i].Revision)
			e.value = appendState(e.value[:0], e.key, c.Object)
			if err := batch.Set(e.key, e.value, nil); err != nil {
				return err
			}
		}
	}
	now := time.Now()
	for i := range commits {
		e.key = appendEntryKey(e.key[:0], commits[i].Revision)
		e.value = appendEntry(e.value[:0], now, &commits[i])
		if err := batch.Set(e.key, e.value, nil); err != nil {
			return err
		}
	}
	return nil
}

// fail rejects appends until maintain has repaired the log, and returns the error for callers. The caller holds
// mu.
func (l *Log) fail(cause error) error {
	if l.failure == nil {
		l.dir.options.Log.Error("the disk failed: writes are rejected until it works again", "folder", l.dir.path,
			"error", cause.Error())
		l.failure = l.dir.unavailable(cause)
	}
	return l.failure
}

// unavailable returns the error for writers after a failure of the disk.
func (d *directory) unavailable(cause error) error {
	if isFull(cause) {
		return &log.FullError{Medium: d.path, Err: cause}
	}
	return &log.FailedError{Medium: d.path, Err: cause}
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
	if l.closed {
		return nil
	}
	l.closed = true
	l.failure = errors.New("the disk log is closed")
	err := l.durable.close()
	if db := l.db; db != nil {
		// Flush, because damage at the end of a write-ahead log is indistinguishable from a torn write, while
		// damage in tables is always detected.
		if db.guard.err() == nil && !l.dir.options.ReadOnly {
			err = errors.Join(err, db.kv.Flush())
		}
		err = errors.Join(err, db.kv.Close(), db.guard.err())
	}
	if err = errors.Join(err, l.dir.lock.release()); err != nil {
		return fmt.Errorf("closing the store in %s: %w", l.dir.path, err)
	}
	return nil
}
