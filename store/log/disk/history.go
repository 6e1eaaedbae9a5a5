package disk

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/object"
)

// history is the last changes, as far as they are handed on.
type history struct {
	// after is the revision before the first of entries, which follow each other up to current.
	after, current object.Revision
	entries        []entry
	// changes and names are where the entries have their changes and the keys of these: few big pieces of memory, instead of
	// two for each commit.
	changes []changed
	names   strings.Builder
	// made is the state that each commit made, by its place in entries, and more those of commits that made several.
	made []*object.Object
	more map[version]*object.Object
	// older are the states that the first of these commits found.
	older map[version]*object.Object
	// events are those that replay has room for.
	events []object.Event
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
		h.room()
		e, err := readEntryWith(i.Value(), h.changes, h.name)
		if err != nil || e.at.Before(oldest) {
			h.entries = h.entries[:0]
			continue
		}
		e.changes, h.changes = e.changes[len(h.changes):], e.changes
		h.entries = append(h.entries, e)
	}
	return last, i.Error()
}

// room begins the next piece of memory for changes when one is nearly full; the entries before it keep theirs.
func (h *history) room() {
	if cap(h.changes)-len(h.changes) < 8 {
		h.changes = make([]changed, 0, 1024)
	}
}

// name copies a key to the end of the text that the keys before it are parts of.
func (h *history) name(key []byte) object.Key {
	if h.names.Cap()-h.names.Len() < len(key) {
		h.names = strings.Builder{}
		h.names.Grow(64<<10 + len(key))
	}
	start := h.names.Len()
	h.names.Write(key)
	return object.Key(h.names.String()[start:])
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
	for i := h.shown(); i < len(h.entries); i++ {
		e := &h.entries[i]
		for _, c := range e.changes {
			event, err := h.event(c, h.after+1+object.Revision(i))
			if err != nil {
				return err
			}
			if err := take(event, e.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown is the place of the first entry from which on all can be shown.
func (h *history) shown() int {
	for i := len(h.entries); i > 0; i-- {
		for _, c := range h.entries[i-1].changes {
			if !h.shows(c, h.after+object.Revision(i)) {
				return i
			}
		}
	}
	return 0
}

// shows says whether both states of a change are there. Of an object that could not be read, its deletion does not show.
func (h *history) shows(c changed, revision object.Revision) bool {
	switch {
	case c.previous != 0 && h.at(c.key, c.previous) == nil:
		return false
	case c.deleted:
		return c.previous != 0
	}
	return h.at(c.key, revision) != nil
}

// event is a change that shows, as watchers see it. Some neighbours share a piece of memory: the store drops them together.
func (h *history) event(c changed, revision object.Revision) (e *object.Event, err error) {
	if len(h.events) == 0 {
		h.events = make([]object.Event, 32)
	}
	e, h.events = &h.events[0], h.events[1:]
	e.Deleted = c.deleted
	if c.previous != 0 {
		e.Previous = h.at(c.key, c.previous)
	}
	if c.deleted {
		e.Object, err = e.Previous.At(revision)
		return e, err
	}
	e.Object = h.at(c.key, revision)
	return e, nil
}
