package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/object"
)

// stored is a state as it was read: an object, a deletion (no object, no error), or what cannot be read.
type stored struct {
	key      object.Key
	revision object.Revision
	object   *object.Object
	err      error
}

const (
	// chunk is how many states are handed from a reader to who takes them at once.
	chunk = 512
	// chunksAhead is how many chunks a reader is ahead of who takes them: most parts are no larger.
	chunksAhead = 16
	// spareChunks is how many chunks are kept to be filled again.
	spareChunks = 64
)

// part is the states of a range of keys.
type part struct {
	lower, upper []byte
	// states are handed over in order, and closed at the end: then err says why it came early, and rest that the reader went on
	// to the end of all parts.
	states chan []stored
	err    error
	rest   bool
}

// parts divides all states where tables begin, into pieces of some megabytes.
func (l *Log) parts() ([]part, error) {
	levels, err := l.db.SSTables()
	if err != nil {
		return nil, err
	}
	lower, upper := bounds(versions)
	edges := [][]byte{lower, upper}
	for _, table := range slices.Concat(levels...) {
		if first := table.Smallest.UserKey; bytes.Compare(first, lower) > 0 && bytes.Compare(first, upper) < 0 {
			edges = append(edges, first)
		}
	}
	slices.SortFunc(edges, bytes.Compare)
	edges = slices.CompactFunc(edges, bytes.Equal)
	parts := make([]part, len(edges)-1)
	for i := range parts {
		parts[i] = part{lower: edges[i], upper: edges[i+1], states: make(chan []stored, chunksAhead)}
	}
	return parts, nil
}

// reading is the work of all readers.
type reading struct {
	log   *Log
	parts []part
	begun atomic.Int64 // how many parts were begun
	spare chan []stored
}

// run reads parts until none is left.
func (w *reading) run(ctx context.Context) {
	r := reader{reading: w}
	for {
		i := int(w.begun.Add(1)) - 1
		if i >= len(w.parts) {
			return
		}
		p := &w.parts[i]
		p.err = r.run(ctx, p)
		close(p.states)
	}
}

// reuse takes a chunk back whose states were taken.
func (w *reading) reuse(states []stored) {
	select {
	case w.spare <- states[:0]:
	default:
	}
}

// empty is a chunk to fill.
func (w *reading) empty() []stored {
	select {
	case states := <-w.spare:
		return states
	default:
		return make([]stored, 0, chunk)
	}
}

// reader reads the states of the objects of a part, newest first for each, and hands them on in chunks.
type reader struct {
	*reading
	part    *part
	objects object.Reader

	// at is where the last state was found, and key its object's.
	at   []byte
	key  object.Key
	next []stored
}

// run reads a part. The states of a damaged block are salvaged; it may have keys of other parts, and so this reader goes on to the
// end of all. After that, or an error, nobody takes the parts that follow: those that were not begun never are.
func (r *reader) run(ctx context.Context, p *part) error {
	r.part, r.at, r.next = p, r.at[:0], r.empty()
	lower, upper := p.lower, p.upper
	for {
		err := r.between(ctx, lower, upper)
		if err == nil {
			return r.flush(ctx)
		}
		r.begun.Store(int64(len(r.parts)))
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
		p.rest = true
		lower = next
		_, upper = bounds(versions)
	}
}

// between reads states in order, up to what cannot be read.
func (r *reader) between(ctx context.Context, lower, upper []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
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
		if len(r.next) >= chunk {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return i.Error()
}

// flush hands on what was read.
func (r *reader) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // of two cases that are ready, select takes any
		return err
	}
	select {
	case r.part.states <- r.next:
		r.next = r.empty()
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
		s.object, s.err = r.objects.Read(r.key, revision, record)
	}
	r.next = append(r.next, s)
	return nil
}
