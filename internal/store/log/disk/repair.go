package disk

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/object"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// repair goes on after a failure of the disk: it drops the database, whose memory may differ from the disk, and opens it
// again and again until that works. Writers are refused meanwhile. Only the keeper calls it.
func (l *Log) repair() {
	l.mu.Lock()
	_ = l.fail(l.guard.err())
	db := l.db
	l.db = nil
	l.mu.Unlock()
	if err := db.Close(); err != nil {
		l.options.Log.Warn("closing the store's database after a failure", "folder", l.dir, "error", err.Error())
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := l.reopen()
		if err == nil {
			l.options.Log.Info("the disk works again, and nothing that was acknowledged is missing", "folder", l.dir)
			return
		}
		var lost *LostError
		if errors.As(err, &lost) {
			l.giveUp(lost)
			return
		}
		l.mu.Lock()
		l.failure = l.unavailable(err)
		l.mu.Unlock()
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// giveUp refuses writes for good.
func (l *Log) giveUp(lost *LostError) {
	l.options.Log.Error("the disk lost commits that were acknowledged: nothing is written any more", "folder", l.dir, "error", lost)
	l.mu.Lock()
	l.failure = fmt.Errorf("the store in %s: %w: nothing is written any more: back up what is served still, and restore that on "+
		"another disk", l.dir, lost)
	l.mu.Unlock()
	<-l.ctx.Done()
}

// reopen opens the database anew. Pebble reads its write-ahead log, of which some may be in the page cache alone after a
// failed fsync, and writes all of it to new files, whose fsyncs succeed or fail like any: so what was read is durable then.
// It must hold everything that was acknowledged. Commits beyond that, whose writers were told that they failed, go.
func (l *Log) reopen() error {
	if err := l.mustBeComplete(); err != nil { // the folder may be elsewhere, and a database would be made in its place
		return err
	}
	db, g, err := l.open(false)
	if err != nil {
		return err
	}
	trimmed := l.trimmed
	if err = l.settle(db); err == nil {
		trimmed, err = beforeFirst(db, object.Revision(l.current.Load())) // what was trimmed last may be there again
	}
	if err == nil {
		err = db.Flush()
	}
	if err = errors.Join(g.err(), err); err != nil {
		return errors.Join(err, db.Close())
	}
	g.trust()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.db, l.guard, l.failure, l.trimmed = db, g, nil, trimmed
	l.openBound()
	l.acknowledge(object.Revision(l.current.Load()))
	return nil
}

// settle makes the database hold the current revision, and none after it.
func (l *Log) settle(db *pebble.DB) error {
	current := object.Revision(l.current.Load())
	base, last, err := newest(db)
	if err != nil {
		return err
	}
	if last != nil && last.revision > current {
		if err := l.truncate(db, current); err != nil {
			return err
		}
		if base, last, err = newest(db); err != nil {
			return err
		}
	}
	switch {
	case last == nil && base == current:
		return nil
	case last == nil || last.revision < current:
		return &LostError{Acknowledged: current, Found: base}
	case !bytes.Equal(last.data, l.last):
		return &LostError{Acknowledged: current, Found: current - 1}
	}
	return nil
}

// truncate removes the commits after a revision.
func (l *Log) truncate(db *pebble.DB, after object.Revision) (err error) {
	_, upper := bounds(entries)
	i, err := db.NewIter(&pebble.IterOptions{LowerBound: appendEntryKey(nil, after+1), UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	batch := db.NewBatch()
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
	return db.Apply(batch, pebble.Sync)
}
