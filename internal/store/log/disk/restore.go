package disk

import (
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

// restoreBatch is the size of a write batch, in bytes.
const restoreBatch = 4 << 20

// ErrNotEmpty is returned by Restore for a directory that already holds a store. Nothing in it was changed.
var ErrNotEmpty = errors.New("the folder already contains a store")

// Restore creates a log in a directory without one, containing the newest states of objects as Append would
// have written them. The log starts at the given revision, which must not be below that of any object, and
// has no history: all earlier revisions are compacted. An error of objects aborts Restore. The directory
// holds a log only once Restore has returned nil; Open treats what an error or a crash leaves as an empty
// directory.
func Restore(dir string, options Options, revision object.Revision, objects iter.Seq2[*object.Object, error]) error {
	options = options.filled()
	lock, err := lockForWriting(options.FS, dir)
	if err != nil {
		return err
	}
	d := &directory{path: dir, options: options, lock: lock}
	if err := errors.Join(d.restore(revision, objects), lock.release()); err != nil {
		return fmt.Errorf("restoring into %s: %w", dir, err)
	}
	return nil
}

func (d *directory) restore(revision object.Revision, objects iter.Seq2[*object.Object, error]) error {
	s, err := d.readFormat()
	if err != nil {
		return err
	}
	if s.ready {
		return ErrNotEmpty
	}
	return d.createWith(func(db *pebble.DB) error {
		if err := fill(db, revision, objects); err != nil {
			return err
		}
		return writeBase(db, revision)
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
			return fmt.Errorf("%s has revision %d, which is above the store's first revision %d", o.Key, o.Revision,
				revision)
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
