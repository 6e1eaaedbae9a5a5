package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

// stored is a state as read: an object, a deletion (neither object nor error), or an error if it cannot be
// read.
type stored struct {
	key      object.Key
	revision object.Revision
	object   *object.Object
	err      error
}

const (
	// chunk is the number of states that a reader passes on at once.
	chunk = 512
	// chunksAhead is the number of chunks that a reader may read ahead. Most parts have fewer.
	chunksAhead = 16
	// spareChunks is the number of chunks retained for reuse.
	spareChunks = 64
)

// part is a range of keys, read by one reader, and its states.
type part struct {
	lower, upper []byte
	// states delivers chunks in key order and is closed at the end. err and rest are valid once it is closed: err is
	// why reading failed, and rest reports whether the reader also delivered the states of all later parts.
	states chan []stored
	err    error
	rest   bool
}

// parts divides the key range of the states at the first keys of the tables, into pieces of a few megabytes.
func (db *database) parts() ([]part, error) {
	levels, err := db.kv.SSTables()
	if err != nil {
		return nil, err
	}
	lower, upper := rowBounds(versions)
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

// loading is the state that all readers of a Load share.
type loading struct {
	db      *database
	parts   []part
	started atomic.Int64 // the number of parts that readers have started
	spare   chan []stored
}

// readParts reads parts until none is left.
func (l *loading) readParts(ctx context.Context) {
	r := reader{loading: l}
	for {
		i := int(l.started.Add(1)) - 1
		if i >= len(l.parts) {
			return
		}
		p := &l.parts[i]
		p.err = r.readPart(ctx, p)
		close(p.states)
	}
}

// reuse recycles a consumed chunk.
func (l *loading) reuse(states []stored) {
	select {
	case l.spare <- states[:0]:
	default:
	}
}

// empty returns a chunk to fill.
func (l *loading) empty() []stored {
	select {
	case states := <-l.spare:
		return states
	default:
		return make([]stored, 0, chunk)
	}
}

// reader reads the states of a part in key order, newest first per object, and passes them on in chunks.
type reader struct {
	*loading
	part    *part
	objects object.Reader

	// at is the database key of the last state, and key the key of its object.
	at   []byte
	key  object.Key
	next []stored
}

// readPart reads a part. If it finds a damaged block, it salvages the states in it and then continues to the end of
// all parts, because the block may contain keys of later ones. In that case, and after an error, no reader starts
// another part, and later parts are not consumed.
func (r *reader) readPart(ctx context.Context, p *part) error {
	r.part, r.at, r.next = p, r.at[:0], r.empty()
	lower, upper := p.lower, p.upper
	for {
		err := r.readRange(ctx, lower, upper)
		if err == nil {
			return r.flush(ctx)
		}
		r.started.Store(int64(len(r.parts)))
		if !pebble.IsCorruptionError(err) {
			return err
		}
		if bytes.Compare(r.at, lower) >= 0 {
			lower = append(bytes.Clone(r.at), 0)
		}
		next, saved := r.salvage(lower)
		if !saved {
			return r.db.withDamagedTables(err)
		}
		p.rest = true
		lower = next
		_, upper = rowBounds(versions)
	}
}

// readRange reads states in order, up to the first that cannot be read.
func (r *reader) readRange(ctx context.Context, lower, upper []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	i, err := r.db.kv.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for ok := i.First(); ok; ok = i.Next() {
		r.at = append(r.at[:0], i.Key()...)
		if err := r.addState(i.Value()); err != nil {
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

// flush passes on the current chunk.
func (r *reader) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select may choose either of two ready cases
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

// addState decodes the value found at r.at and appends the state to the chunk.
func (r *reader) addState(value []byte) error {
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
		s.err = fmt.Errorf("it was written under the key %q: %w", written, object.ErrDamaged)
	case len(record) > 0:
		s.object, s.err = r.objects.Read(r.key, revision, record)
	}
	r.next = append(r.next, s)
	return nil
}
