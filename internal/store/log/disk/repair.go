package disk

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// maintain trims and repairs until the log is closed. Load has read everything before maintain starts.
func (l *Log) maintain() {
	l.db.guard.allowRemovals()
	for l.ctx.Err() == nil {
		select {
		case <-l.ctx.Done():
		case <-l.db.guard.failed:
			l.repair()
		case <-l.trimmer.notify:
			l.trimmer.trim(l.ctx, l.db, object.Revision(l.current.Load()))
		}
	}
}

// repair recovers from a disk failure: it closes the database, whose memory may differ from the disk, and
// retries opening it until that succeeds. Writes are rejected meanwhile. Only maintain calls it.
func (l *Log) repair() {
	l.mu.Lock()
	db := l.db
	_ = l.fail(db.guard.err())
	l.db = nil
	l.mu.Unlock()
	if err := db.kv.Close(); err != nil {
		l.dir.options.Log.Warn("closing the store's database after a failure", "folder", l.dir.path, "error",
			err.Error())
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := l.reopen()
		if err == nil {
			l.dir.options.Log.Info("the disk works again, and all acknowledged commits exist", "folder", l.dir.path)
			return
		}
		var lost *LostError
		if errors.As(err, &lost) {
			l.rejectWrites(lost)
			return
		}
		l.mu.Lock()
		l.failure = l.dir.unavailable(err)
		l.mu.Unlock()
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// rejectWrites rejects writes until the log is closed, and waits for that.
func (l *Log) rejectWrites(lost *LostError) {
	l.dir.options.Log.Error("the disk lost acknowledged commits: writes are rejected", "folder", l.dir.path,
		"error", lost)
	l.mu.Lock()
	l.failure = fmt.Errorf("the store in %s: %w: writes are rejected: back up what is still served, and restore it "+
		"on another disk", l.dir.path, lost)
	l.mu.Unlock()
	<-l.ctx.Done()
}

// reopen opens the database again, which must contain everything that was acknowledged. Parts of the write-ahead log
// may exist only in the page cache after a failed fsync. Pebble reads the log and writes all of it to new files,
// which it syncs, so everything that was read is durable afterwards. Commits that were not acknowledged are removed,
// because their writers received an error.
func (l *Log) reopen() error {
	// The directory may have been moved, and the database would create a new one.
	if err := l.dir.checkComplete(); err != nil {
		return err
	}
	db, err := l.dir.open(false)
	if err != nil {
		return err
	}
	current, trimmed := object.Revision(l.current.Load()), never
	if err = db.verifyEnd(current, l.last); err == nil {
		trimmed, err = beforeFirst(db.kv, current) // trimmed entries may reappear
	}
	if err == nil {
		err = db.kv.Flush()
	}
	if err = errors.Join(db.guard.err(), err); err != nil {
		return errors.Join(err, db.kv.Close())
	}
	db.guard.allowRemovals()
	l.trimmer.trimmed = trimmed
	l.mu.Lock()
	defer l.mu.Unlock()
	l.db, l.failure = db, nil
	l.durable.open(l.dir)
	l.durable.write(current)
	return nil
}

// verifyEnd checks that the database contains the current revision and its entry, and removes later ones.
func (db *database) verifyEnd(current object.Revision, entry []byte) error {
	base, last, err := newest(db.kv)
	if err != nil {
		return err
	}
	if last != nil && last.revision > current {
		if err := db.truncate(current); err != nil {
			return err
		}
		if base, last, err = newest(db.kv); err != nil {
			return err
		}
	}
	switch {
	case last == nil && base == current:
		return nil
	case last == nil || last.revision < current:
		return &LostError{Acknowledged: current, Found: base}
	case !bytes.Equal(last.data, entry):
		return &LostError{Acknowledged: current, Found: current - 1}
	}
	return nil
}

// truncate removes the commits after a revision.
func (db *database) truncate(after object.Revision) (err error) {
	_, upper := rowBounds(entries)
	i, err := db.kv.NewIter(&pebble.IterOptions{LowerBound: appendEntryKey(nil, after+1), UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	batch := db.kv.NewBatch()
	defer batch.Close()
	for i.First(); i.Valid(); i.Next() {
		revision, err := splitEntryKey(i.Key())
		if err != nil {
			return err
		}
		e, err := readEntry(i.Value(), nil)
		if err != nil {
			return err
		}
		for _, c := range e.changes {
			if err := batch.Delete(appendVersionKey(nil, c.key, revision), nil); err != nil {
				return err
			}
		}
		if err := batch.Delete(bytes.Clone(i.Key()), nil); err != nil {
			return err
		}
	}
	return db.kv.Apply(batch, pebble.Sync)
}
