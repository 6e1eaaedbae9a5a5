package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

// inspect opens the database read-only before it is opened for writing, and checks that its commits are
// consecutive and include all acknowledged ones. Opening for writing creates a new MANIFEST, but a store that Open
// rejects must stay unchanged, so that a missing file can be put back. inspect also checks a store that was closed
// cleanly: its disk may have been full at that time, or its files may have been modified since. Only migrations of an
// older layout run earlier. inspect does not log, because opening the store reports the same findings again.
func (d *directory) inspect() error {
	reader := *d
	reader.options.ReadOnly, reader.options.Log = true, slog.New(slog.DiscardHandler)
	db, err := reader.open(true)
	if err != nil {
		return err
	}
	found, err := db.extent()
	var lost *LostError
	if err == nil {
		lost, err = reader.lost(found.current)
	}
	if err == nil {
		err = db.readHistory(&history{after: found.current, current: found.current}) // only checks continuity
	}
	if err == nil && lost != nil {
		batch := db.kv.NewBatch()
		err = errors.Join(db.deleteHistory(batch), batch.Close())
	}
	return errors.Join(err, db.kv.Close())
}

// lost returns which acknowledged commits are missing from a database whose last commit is current, nil if none is.
// Unless AcceptLoss is set, missing commits are an error.
func (d *directory) lost(current object.Revision) (*LostError, error) {
	lost := &LostError{Acknowledged: readDurable(d.options.FS, d.path), Found: current}
	switch {
	case lost.Acknowledged <= lost.Found:
		return nil, nil
	case !d.options.AcceptLoss:
		return nil, fmt.Errorf("%w: a file of them (*.log), or the list of all files (MANIFEST-*), is damaged, cut "+
			"short or missing: put it back, or restore a backup", lost)
	}
	return lost, nil
}

// acceptLoss continues without acknowledged commits. A read-only log only logs a warning.
func (l *Log) acceptLoss(lost *LostError) error {
	readOnly := l.dir.options.ReadOnly
	if !readOnly && l.failure != nil {
		return fmt.Errorf("%v: continuing without them requires writing to the store: %w", lost, l.failure)
	}
	l.dir.options.Log.Warn("continuing without acknowledged commits", "error", lost)
	if readOnly {
		return nil
	}
	if err := l.db.restartAfter(lost.Acknowledged); err != nil {
		return err
	}
	return l.locate()
}

// restartAfter sets the base revision to one epoch above an acknowledged one, so that no revision is reused, and
// discards the history, which would have a gap.
func (db *database) restartAfter(acknowledged object.Revision) error {
	batch := db.kv.NewBatch()
	defer batch.Close()
	err := errors.Join(
		db.deleteHistory(batch),
		batch.Set(baseKey, baseValue(object.NextEpoch(acknowledged, time.Now())), nil),
	)
	if err == nil {
		err = db.kv.Apply(batch, pebble.Sync)
	}
	return errors.Join(err, db.guard.err())
}

// deleteHistory adds the deletion of all entries, and of the states that they replaced, to a batch. See
// deleteCommits for when it fails.
func (db *database) deleteHistory(batch *pebble.Batch) error {
	lower, upper := rowBounds(entries)
	if err := db.deleteCommits(batch, lower, upper); err != nil {
		return fmt.Errorf("its last commits are lost, and continuing without them requires the earlier commits, which "+
			"cannot be read (back up what is readable, and restore it): %w", db.withDamagedTables(err))
	}
	return nil
}
