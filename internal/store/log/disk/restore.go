package disk

import (
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/object"
)

// restoreBatch is how much is written at once, in bytes.
const restoreBatch = 4 << 20

// ErrNotEmpty is returned by Restore for a folder that holds a store already. Nothing in it was touched.
var ErrNotEmpty = errors.New("it holds a store already")

// Restore makes a log in a folder that holds none, with the newest states of objects, as Append would have left them; it begins
// at a revision, which none of theirs is above, and has no history: all before is compacted. An error of objects ends it. The
// folder is a log's once Restore has returned nil. What it leaves after an error, or a crash, is none yet: Open would make an
// empty one of it.
func Restore(dir string, options Options, revision object.Revision, objects iter.Seq2[*object.Object, error]) error {
	options = options.filled()
	lock, err := enter(options.FS, dir)
	if err != nil {
		return err
	}
	l := &Log{dir: dir, options: options, lock: lock}
	if err := errors.Join(l.restore(revision, objects), lock.release()); err != nil {
		return fmt.Errorf("restoring into %s: %w", dir, err)
	}
	return nil
}

func (l *Log) restore(revision object.Revision, objects iter.Seq2[*object.Object, error]) error {
	s, err := l.readState()
	if err != nil {
		return err
	}
	if s.ready {
		return ErrNotEmpty
	}
	return l.make(func(db *pebble.DB) error {
		if err := fill(db, revision, objects); err != nil {
			return err
		}
		return start(db, revision)
	})
}

// fill writes the states of objects.
func fill(db *pebble.DB, revision object.Revision, objects iter.Seq2[*object.Object, error]) error {
	batch := db.NewBatch()
	defer func() { _ = batch.Close() }()
	var key, state []byte
	for o, err := range objects {
		if err != nil {
			return err
		}
		if o.Revision > revision {
			return fmt.Errorf("%s is of revision %d, and the store is to begin at %d", o.Key, o.Revision, revision)
		}
		key = appendVersionKey(key[:0], o.Key, o.Revision)
		state = appendState(state[:0], key, o)
		if err := batch.Set(key, state, nil); err != nil {
			return err
		}
		if batch.Len() < restoreBatch {
			continue
		}
		if err := db.Apply(batch, pebble.NoSync); err != nil {
			return err
		}
		if err := batch.Close(); err != nil {
			return err
		}
		batch = db.NewBatch()
	}
	return db.Apply(batch, pebble.NoSync)
}
