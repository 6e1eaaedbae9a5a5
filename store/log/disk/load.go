package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store/log"
)

// stored is a state as it was read: an object, a deletion (no object, no error), or what cannot be read.
type stored struct {
	key      object.Key
	revision object.Revision
	object   *object.Object
	err      error
}

// chunk is how many states are handed from the reader to who takes them at once.
const chunk = 512

// Load hands on the newest state of every object in the order of their keys, and the changes of the last HistoryAge.
//
// Reading and taking are two goroutines. What cannot be read costs no more than itself: an object whose newest state is
// damaged is named, and of the history what follows the last damage is handed on. The keeper begins its work after it.
func (l *Log) Load(ctx context.Context, into log.Loading) (object.Revision, error) {
	current := object.Revision(l.current.Load())
	h, err := l.readHistory(current)
	if err != nil {
		return 0, fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	if err := l.loadStates(ctx, h, into); err != nil {
		return 0, fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	if err := h.replay(into.Past); err != nil {
		return 0, fmt.Errorf("the store in %s: %w", l.dir, err)
	}
	if !l.options.ReadOnly {
		l.work.Go(l.keep)
	}
	return current, nil
}

// loadStates takes what a reader reads. The first error ends both.
func (l *Log) loadStates(ctx context.Context, h *history, into log.Loading) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chunks := make(chan []stored, 4)
	read := make(chan error, 1)
	go func() {
		defer close(chunks)
		r := reader{log: l, chunks: chunks, next: make([]stored, 0, chunk)}
		err := r.run(ctx)
		if err == nil {
			err = r.flush(ctx)
		}
		read <- err
	}()
	t := taker{history: h, into: into}
	var failed error
	for states := range chunks {
		for i := range states {
			if failed == nil {
				failed = t.take(&states[i])
			}
		}
		if failed != nil {
			cancel()
		}
	}
	return errors.Join(failed, <-read)
}

// reader reads the states of all objects, newest first for each, and hands them on in chunks.
type reader struct {
	log     *Log
	chunks  chan<- []stored
	objects object.Reader

	// at is where the last state was found, and key its object's.
	at   []byte
	key  object.Key
	next []stored
}

// run reads all states. Those of a damaged block are salvaged.
func (r *reader) run(ctx context.Context) error {
	lower, upper := bounds(versions)
	for {
		err := r.between(ctx, lower, upper)
		if !pebble.IsCorruptionError(err) {
			return err
		}
		if bytes.Compare(r.at, lower) >= 0 {
			lower = append(bytes.Clone(r.at), 0)
		}
		next, saved := r.salvage(lower)
		if !saved {
			return r.log.located(err)
		}
		lower = next
	}
}

// between reads states in order, up to what cannot be read.
func (r *reader) between(ctx context.Context, lower, upper []byte) (err error) {
	i, err := r.log.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for ok := i.First(); ok; ok = i.Next() {
		r.at = append(r.at[:0], i.Key()...)
		if err := r.read(i.Value()); err != nil {
			return err
		}
		if len(r.next) == chunk {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return i.Error()
}

// flush hands on what was read.
func (r *reader) flush(ctx context.Context) error {
	select {
	case r.chunks <- r.next:
		r.next = make([]stored, 0, chunk)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read takes the value that was found.
func (r *reader) read(value []byte) error {
	key, revision, err := splitVersionKey(r.at)
	if err != nil {
		return err
	}
	if string(r.key) != string(key) {
		r.key = object.Key(key)
	}
	s := stored{key: r.key, revision: revision}
	written, record, err := splitState(value)
	switch {
	case err != nil:
		s.err = err
	case !bytes.Equal(written, r.at):
		s.err = fmt.Errorf("it was written by the key %q: %w", written, object.ErrDamaged)
	case len(record) > 0:
		s.object, s.err = r.objects.Read(r.key, revision, bytes.Clone(record))
	}
	r.next = append(r.next, s)
	return nil
}

// taker tells the newest state of each object from those before it.
type taker struct {
	history *history
	into    log.Loading
	last    stored
}

func (t *taker) take(s *stored) error {
	newest := t.last.key != s.key
	before := t.last
	t.last = *s
	if s.revision > t.history.current {
		return fmt.Errorf("%s has revision %d, and the last commit is %d: a file of the last commits is missing, or of another time",
			s.key, s.revision, t.history.current)
	}
	t.history.remember(s, newest, before.revision)
	switch {
	case !newest:
		return nil
	case s.err != nil:
		return t.into.Damaged(s.key, s.err)
	case s.object != nil:
		return t.into.Live(s.object)
	}
	return nil
}
