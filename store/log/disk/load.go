package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

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
	l.work.Go(l.keep)
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

// history is the last changes, as far as they are handed on.
type history struct {
	// after is the revision before the first of entries, which follow each other up to current.
	after, current object.Revision
	entries        []entry
	// made is the state that each commit made, by its place in entries, and more those of commits that made several.
	made []*object.Object
	more map[version]*object.Object
	// older are the states that the first of these commits found.
	older map[version]*object.Object
}

type version struct {
	key      object.Key
	revision object.Revision
}

// readHistory reads the entries that are not too old.
func (l *Log) readHistory(current object.Revision) (*history, error) {
	h := &history{current: current, more: map[version]*object.Object{}, older: map[version]*object.Object{}}
	lower, upper := bounds(entries)
	last, err := h.read(l.db, lower, upper, time.Now().Add(-l.options.HistoryAge))
	if pebble.IsCorruptionError(err) { // watches do not resume; the last entry was read
		l.options.Log.Error("the store's history is damaged, and left out", "folder", l.dir, "error", l.located(err))
		h.entries, err = nil, nil
	} else if err == nil && last != current && last != 0 {
		err = fmt.Errorf("the commits up to %d cannot be read: %w", current, object.ErrDamaged)
	}
	h.after = current - object.Revision(len(h.entries))
	h.made = make([]*object.Object, len(h.entries))
	return h, l.located(err)
}

// read appends entries, and returns the revision of the last one.
func (h *history) read(db *pebble.DB, lower, upper []byte, oldest time.Time) (last object.Revision, err error) {
	i, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for ok := i.First(); ok; ok = i.Next() {
		revision, err := splitEntryKey(i.Key())
		if err != nil {
			return last, err
		}
		if last != 0 && revision != last+1 {
			return last, fmt.Errorf("commits %d to %d are missing: a file was lost, or is of another time", last+1, revision-1)
		}
		last = revision
		e, err := readEntry(i.Value(), nil)
		if err != nil || e.at.Before(oldest) {
			h.entries = h.entries[:0]
			continue
		}
		h.entries = append(h.entries, e)
	}
	return last, i.Error()
}

// remember keeps a state if the history shows it. It is the newest of its object, or the one that the revision next replaced.
func (h *history) remember(s *stored, newest bool, next object.Revision) {
	switch {
	case s.object == nil:
	case s.revision <= h.after:
		if !newest && next > h.after {
			h.older[version{s.key, s.revision}] = s.object
		}
	case h.made[s.revision-h.after-1] == nil:
		h.made[s.revision-h.after-1] = s.object
	default:
		h.more[version{s.key, s.revision}] = s.object
	}
}

// at is the state that a commit made of an object, nil if it is not there.
func (h *history) at(key object.Key, revision object.Revision) *object.Object {
	if revision <= h.after {
		return h.older[version{key, revision}]
	}
	if o := h.made[revision-h.after-1]; o != nil && o.Key == key {
		return o
	}
	return h.more[version{key, revision}]
}

// replay hands on the changes of the commits after the last one that cannot be shown any more.
func (h *history) replay(take func(*object.Event, time.Time) error) error {
	var events []*object.Event
	first := len(h.entries)
	for ; first > 0; first-- {
		made, err := h.events(first - 1)
		if err != nil {
			return err
		}
		if made == nil {
			break
		}
		events = append(events, made...)
	}
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		if err := take(e, h.entries[e.Revision()-h.after-1].at); err != nil {
			return err
		}
	}
	return nil
}

// events are the changes of a commit, the last one first; nil where a state of one is gone.
func (h *history) events(i int) ([]*object.Event, error) {
	changes := h.entries[i].changes
	events := make([]*object.Event, len(changes))
	for j, c := range changes {
		e, err := h.event(c, h.after+1+object.Revision(i))
		if e == nil || err != nil {
			return nil, err
		}
		events[len(changes)-1-j] = e
	}
	return events, nil
}

// event is a change as watchers see it, nil where one of its states is gone.
func (h *history) event(c changed, revision object.Revision) (*object.Event, error) {
	e := &object.Event{Deleted: c.deleted}
	if c.previous != 0 {
		if e.Previous = h.at(c.key, c.previous); e.Previous == nil {
			return nil, nil
		}
	}
	if !c.deleted {
		e.Object = h.at(c.key, revision)
		if e.Object == nil {
			return nil, nil
		}
		return e, nil
	}
	if e.Previous == nil {
		return nil, nil
	}
	var err error
	e.Object, err = e.Previous.At(revision)
	return e, err
}
