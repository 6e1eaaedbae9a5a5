package disk

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/bowline-dev/bowline/internal/object"
)

// history reconstructs the last changes for Load. addState collects the states of objects, read then reads the
// entries of the commits and combines them, and replay delivers the changes.
type history struct {
	// after is the revision before the first existing entry, and current that of the last.
	after, current object.Revision
	// written[i] is a state that the commit after+1+i wrote; alsoWritten holds the other states that it wrote.
	written     []*object.Object
	alsoWritten map[version]*object.Object
	// replaced holds the states that these commits replaced and that earlier commits wrote.
	replaced map[version]*object.Object
	// events holds the events to deliver; spare is preallocated memory for further events.
	events []timedEvent
	spare  []object.Event
}

type version struct {
	key      object.Key
	revision object.Revision
}

// timedEvent is a change and its time.
type timedEvent struct {
	event *object.Event
	at    time.Time
}

// newHistory returns an empty history of a log that was trimmed up to a revision.
func newHistory(current, trimmed object.Revision) *history {
	h := &history{current: current, alsoWritten: map[version]*object.Object{}, replaced: map[version]*object.Object{}}
	h.after = min(trimmed, h.current) // trimmed is never if the entries cannot be read
	h.written = make([]*object.Object, h.current-h.after)
	return h
}

// addState collects a state if an event may need it. newest reports whether it is the newest of its object; if not,
// next is the revision at which it was replaced.
func (h *history) addState(s *stored, newest bool, next object.Revision) {
	switch {
	case s.object == nil:
	case s.revision <= h.after:
		if !newest && next > h.after {
			h.replaced[version{s.key, s.revision}] = s.object
		}
	case h.written[s.revision-h.after-1] == nil:
		h.written[s.revision-h.after-1] = s.object
	default:
		h.alsoWritten[version{s.key, s.revision}] = s.object
	}
}

// at returns the state of an object that a commit wrote, nil if it is not known.
func (h *history) at(key object.Key, revision object.Revision) *object.Object {
	switch {
	case revision <= h.after:
		return h.replaced[version{key, revision}]
	case revision > h.current: // no commit, but an entry may name any revision
		return nil
	}
	if o := h.written[revision-h.after-1]; o != nil && o.Key == key {
		return o
	}
	return h.alsoWritten[version{key, revision}]
}

// readHistory reads the entries into h. It drops a damaged history, and returns an error if the last entries are lost.
func (db *database) readHistory(h *history) error {
	h.events = make([]timedEvent, 0, len(h.written))
	last, err := h.read(db.kv, time.Now().Add(-db.dir.options.HistoryAge))
	if pebble.IsCorruptionError(err) { // not fatal: only watches that resume need the history
		db.dir.options.Log.Error("the store's history is damaged and ignored", "folder", db.dir.path,
			"error", db.withDamagedTables(err))
		h.events, err = nil, nil
	} else if err == nil && last != h.current && last != 0 {
		err = fmt.Errorf("the commits up to %d cannot be read: %w", h.current, object.ErrDamaged)
	}
	return db.withDamagedTables(err)
}

// read collects the events of the entries since oldest, and returns the revision of the last entry.
func (h *history) read(db *pebble.DB, oldest time.Time) (last object.Revision, err error) {
	lower, upper := rowBounds(entries)
	i, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	var changes []changed
	for ok := i.First(); ok; ok = i.Next() {
		revision, err := splitEntryKey(i.Key())
		if err != nil {
			return last, err
		}
		if last != 0 && revision != last+1 {
			return last,
				fmt.Errorf("commits %d to %d are missing: a file of them (*.log) was removed, or replaced by an older "+
					"one: put it back, or restore a backup", last+1, revision-1)
		}
		last = revision
		if revision <= h.after || revision > h.current {
			continue
		}
		e, err := readEntryWith(i.Value(), changes[:0], func(key []byte) object.Key { return h.keyOf(key, revision) })
		if err != nil || e.at.Before(oldest) {
			h.events = h.events[:0]
			continue
		}
		changes = e.changes
		if err := h.add(&e, revision); err != nil {
			return last, err
		}
	}
	return last, i.Error()
}

// keyOf converts the bytes of a key. If the commit's state in written has this key, its string is reused to save
// a copy.
func (h *history) keyOf(key []byte, revision object.Revision) object.Key {
	if o := h.written[revision-h.after-1]; o != nil && string(o.Key) == string(key) {
		return o.Key
	}
	return object.Key(key)
}

// add appends the changes of a commit. If one of them lacks a state, the history starts after this commit.
func (h *history) add(e *entry, revision object.Revision) error {
	for _, c := range e.changes {
		if !h.hasStates(c, revision) {
			h.events = h.events[:0]
			return nil
		}
	}
	for _, c := range e.changes {
		event, err := h.event(c, revision)
		if err != nil {
			return err
		}
		h.events = append(h.events, timedEvent{event, e.at})
	}
	return nil
}

// hasStates reports whether both states of a change are available. The deletion of an unreadable object has no
// previous state.
func (h *history) hasStates(c changed, revision object.Revision) bool {
	switch {
	case c.previous != 0 && h.at(c.key, c.previous) == nil:
		return false
	case c.deleted:
		return c.previous != 0
	}
	return h.at(c.key, revision) != nil
}

// event returns the event of a change whose states are available. Events are allocated in blocks of 32; a block is
// freed when the store has dropped all of its events, which it does in order.
func (h *history) event(c changed, revision object.Revision) (e *object.Event, err error) {
	if len(h.spare) == 0 {
		h.spare = make([]object.Event, 32)
	}
	e, h.spare = &h.spare[0], h.spare[1:]
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

// replay delivers the changes.
func (h *history) replay(take func(*object.Event, time.Time) error) error {
	for _, p := range h.events {
		if err := take(p.event, p.at); err != nil {
			return err
		}
	}
	return nil
}
