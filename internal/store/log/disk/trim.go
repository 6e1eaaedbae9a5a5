package disk

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

const (
	// trimWorthwhile is the number of commits that must leave the history before they are trimmed.
	trimWorthwhile = 64
	// trimBatch bounds the number of commits trimmed in one batch, so that no commit waits long for it.
	trimBatch = 256
	// never marks a log that is not trimmed any more, since entries must be deleted in order.
	never = ^object.Revision(0)
)

// Compact notifies the keep goroutine when there is something to trim.
func (l *Log) Compact(before object.Revision) {
	told := l.before.Swap(uint64(before))
	if uint64(before)/trimWorthwhile == told/trimWorthwhile {
		return
	}
	select {
	case l.compact <- struct{}{}:
	default:
	}
}

// keep trims and repairs until the log is closed. Load has read everything before keep starts.
func (l *Log) keep() {
	l.guard.trust()
	for l.ctx.Err() == nil {
		select {
		case <-l.ctx.Done():
		case <-l.guard.failed:
			l.repair()
		case <-l.compact:
			l.trim()
		}
	}
}

// trim deletes what has left the history: replaced states, deletions, and the entries of the commits. The
// newest entry stays, since it records the current revision. The deletes are not synced; if a crash undoes
// them, they are repeated. Only keep calls it.
func (l *Log) trim() {
	upto := min(object.Revision(l.before.Load()), object.Revision(l.current.Load())-1)
	for l.trimmed < upto && l.ctx.Err() == nil && l.guard.err() == nil {
		if err := l.trimSome(upto); err != nil {
			l.options.Log.Error("trimming the store's history failed", "folder", l.dir, "error", err)
			l.trimmed = never
			return
		}
	}
}

// trimSome trims the next commits in one batch.
func (l *Log) trimSome(upto object.Revision) error {
	upto = min(upto, l.trimmed+trimBatch)
	batch := l.db.NewBatch()
	defer batch.Close()
	if err := l.forgetCommits(batch, appendEntryKey(nil, l.trimmed+1), appendEntryKey(nil, upto+1)); err != nil {
		return err
	}
	if err := l.db.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	l.trimmed = upto
	return nil
}

// forgetCommits adds the deletion of the commits between two keys to a batch, or fails if one of them cannot
// be read. The states that an unread entry replaced would remain, and one of them would become the newest of
// its object once the object's deletion is trimmed.
func (l *Log) forgetCommits(batch *pebble.Batch, lower, upper []byte) error {
	i, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	err = forgetEntries(batch, i)
	if err = errors.Join(err, i.Close()); err != nil {
		return err
	}
	return batch.DeleteRange(lower, upper, nil)
}

func forgetEntries(batch *pebble.Batch, i *pebble.Iterator) error {
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
		if err := forget(batch, revision, changes); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes the states that a commit replaced, and its deletions. Each was written once. If a deleted
// object was unreadable, its previous revision is unknown and the deletion stays.
func forget(batch *pebble.Batch, revision object.Revision, changes []changed) error {
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
