package disk

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	// minTrim is the number of commits that must leave the history before they are trimmed.
	minTrim = 64
	// trimBatch bounds the number of commits trimmed in one batch, so that no commit waits long for it.
	trimBatch = 256
	// never is the value of trimmer.trimmed for a log that is not trimmed any more, because an entry cannot be read
	// and entries must be deleted in order.
	never = ^object.Revision(0)
)

// trimmer deletes the commits that have left the store's history. before may be set at any time; the other
// fields belong to the goroutine that opens and loads the log, and then to maintain.
type trimmer struct {
	// before is the argument of the last call of Compact; notify wakes maintain when there is something to trim.
	before atomic.Uint64
	notify chan struct{}
	// trimmed is the last revision whose entry was deleted.
	trimmed object.Revision
}

// Compact notifies the maintain goroutine when there is something to trim.
func (l *Log) Compact(before object.Revision) { l.trimmer.request(before) }

func (t *trimmer) request(before object.Revision) {
	last := t.before.Swap(uint64(before))
	if uint64(before)/minTrim == last/minTrim {
		return
	}
	select {
	case t.notify <- struct{}{}:
	default:
	}
}

// trim deletes what has left the history of a database that ends at a revision: replaced states, deletions,
// and the entries of the commits. The newest entry stays, since it records the current revision. The deletes
// are not synced; if a crash undoes them, they are repeated.
func (t *trimmer) trim(ctx context.Context, db *database, current object.Revision) {
	upto := min(object.Revision(t.before.Load()), current-1)
	for t.trimmed < upto && ctx.Err() == nil && db.guard.err() == nil {
		if err := t.trimSome(db, upto); err != nil {
			db.dir.options.Log.Error("trimming the store's history failed", "folder", db.dir.path, "error", err)
			t.trimmed = never
			return
		}
	}
}

// trimSome trims the next commits in one batch.
func (t *trimmer) trimSome(db *database, upto object.Revision) error {
	upto = min(upto, t.trimmed+trimBatch)
	batch := db.kv.NewBatch()
	defer batch.Close()
	if err := db.deleteCommits(batch, appendEntryKey(nil, t.trimmed+1), appendEntryKey(nil, upto+1)); err != nil {
		return err
	}
	if err := db.kv.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	t.trimmed = upto
	return nil
}

// deleteCommits adds the deletion of the entries between two keys, and of the states that they replaced, to a batch.
// It fails if an entry cannot be read: the states that it replaced would remain, and one of them would become the
// newest of its object once the object's deletion is trimmed.
func (db *database) deleteCommits(batch *pebble.Batch, lower, upper []byte) error {
	i, err := db.kv.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	err = deleteEntries(batch, i)
	if err = errors.Join(err, i.Close()); err != nil {
		return err
	}
	return batch.DeleteRange(lower, upper, nil)
}

func deleteEntries(batch *pebble.Batch, i *pebble.Iterator) error {
	var changes []changed
	for i.First(); i.Valid(); i.Next() {
		revision, err := splitEntryKey(i.Key())
		if err != nil {
			return err
		}
		e, err := readEntry(i.Value(), changes[:0])
		if err != nil {
			return err
		}
		changes = e.changes
		if err := deleteReplaced(batch, revision, changes); err != nil {
			return err
		}
	}
	return nil
}

// deleteReplaced deletes the states that a commit replaced, and the rows of its deletions. If a deleted object was
// unreadable, its previous revision is unknown and the row of the deletion stays.
func deleteReplaced(batch *pebble.Batch, revision object.Revision, changes []changed) error {
	for _, c := range changes {
		if c.previous == 0 {
			continue
		}
		if c.deleted {
			if err := batch.Delete(appendVersionKey(nil, c.key, revision), nil); err != nil {
				return err
			}
		}
		if err := batch.Delete(appendVersionKey(nil, c.key, c.previous), nil); err != nil {
			return err
		}
	}
	return nil
}
