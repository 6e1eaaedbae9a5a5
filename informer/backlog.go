package informer

import "github.com/bowline-dev/bowline/client"

// notice is one pending call of a handler.
type notice[T client.Object] struct {
	kind     noticeKind
	old, new *state[T] // a deletion sets old
	flag     bool      // isInInitialList or finalStateUnknown; for an update: states between old and new are left out
}

type noticeKind uint8

const (
	noticeAdd noticeKind = iota
	noticeUpdate
	noticeSync // new is resynced
	noticeDelete
	noticeVanish // old came and went; it may be a trace
	noticeSynced // the initial list is complete
)

// backlog holds what a handler has not been notified of, in the order in which the objects entered it. It
// holds at most a deletion and an addition, or an update, per object. It is not safe for concurrent use.
type backlog[T client.Object] struct {
	byKey       map[Key]*untold[T]
	first, last *untold[T]
	length      int
	most        int // largest length since byKey was made
	// thorough retains objects that came and went. vanished counts them; lost counts those that did not fit
	// since the backlog was empty.
	thorough       bool
	vanished, lost int
}

// Bounds on the vanished objects that wait for a VanishHandler: with their states, and in total.
const (
	mostVanished = 1024
	mostTraces   = 128 << 10
)

// keptPlaces is the largest size of a backlog whose map is kept when the backlog becomes empty.
const keptPlaces = 8

// untold is an entry of a backlog: what the handler has not been told about one key.
type untold[T client.Object] struct {
	key Key
	// gone is the last state of an object whose deletion is reported first, or nil.
	gone *state[T]
	// vanished holds the last states, or traces, of further objects of the key that came and went, for a
	// VanishHandler.
	vanished []*state[T]
	// new is the current state: an update of old, an addition if old is nil, or a resync if both are equal.
	// It is nil if there is no object now.
	old, new *state[T]
	// unknown, initial and merged are the flags of the deletion, the addition and the update.
	unknown, initial, merged bool
	// synced marks the end of the initial list; the entry has no object.
	synced bool

	before, after *untold[T]
}

// add adds a notice, merged with what is pending for the same object.
func (b *backlog[T]) add(n notice[T]) {
	switch n.kind {
	case noticeAdd:
		u := b.place(n.new.key)
		u.old, u.new, u.initial = nil, n.new, n.flag
	case noticeUpdate:
		u := b.place(n.new.key)
		u.merged = n.flag || u.new != nil
		if u.new == nil {
			u.old = n.old
		}
		u.new = n.new
	case noticeSync:
		if b.byKey[n.new.key] == nil {
			u := b.place(n.new.key)
			u.old, u.new = n.new, n.new
		}
	case noticeDelete:
		b.delete(n)
	case noticeVanish:
		if b.thorough {
			b.vanish(b.place(n.old.key), n.old)
		}
	case noticeSynced:
		b.push(&untold[T]{synced: true})
	}
}

// delete adds a deletion. A handler that was never notified of the object gets no call, unless it is
// VanishHandler.
func (b *backlog[T]) delete(n notice[T]) {
	u := b.place(n.old.key)
	unheard := u.new != nil && u.old == nil
	u.old, u.new, u.initial = nil, nil, false
	switch {
	case !unheard:
		u.gone, u.unknown = n.old, n.flag
	case b.thorough:
		b.vanish(u, n.old)
	case u.gone == nil:
		b.drop(u)
	}
}

// vanish records an object that came and went, for a VanishHandler.
func (b *backlog[T]) vanish(u *untold[T], s *state[T]) {
	alone := u.gone == nil && u.new == nil && len(u.vanished) == 0
	if b.vanished >= mostTraces {
		b.lost++
		if alone {
			b.drop(u)
		}
		return
	}
	if b.vanished >= mostVanished {
		s = s.trace(errTrace)
		if alone { // the key may share memory with the object
			delete(b.byKey, u.key)
			u.key = s.key
			b.byKey[u.key] = u
		}
	}
	b.vanished++
	u.vanished = append(u.vanished, s)
}

// place returns the entry of a key, appending one if needed.
func (b *backlog[T]) place(key Key) *untold[T] {
	u := b.byKey[key]
	if u == nil {
		u = &untold[T]{key: key}
		if b.byKey == nil {
			b.byKey = map[Key]*untold[T]{}
		}
		b.byKey[key] = u
		b.push(u)
	}
	return u
}

// push appends an entry.
func (b *backlog[T]) push(u *untold[T]) {
	b.length++
	b.most = max(b.most, b.length)
	u.before = b.last
	if b.last == nil {
		b.first = u
	} else {
		b.last.after = u
	}
	b.last = u
}

// take removes and returns the first entry; nil if there is none.
func (b *backlog[T]) take() *untold[T] {
	u := b.first
	if u != nil {
		b.drop(u)
	}
	return u
}

// drop removes an entry.
func (b *backlog[T]) drop(u *untold[T]) {
	b.length--
	b.vanished -= len(u.vanished)
	if !u.synced {
		delete(b.byKey, u.key)
	}
	if u.before == nil {
		b.first = u.after
	} else {
		u.before.after = u.after
	}
	if u.after == nil {
		b.last = u.before
	} else {
		u.after.before = u.before
	}
	u.before, u.after = nil, nil
	if b.length > 0 {
		return
	}
	b.lost = 0
	if b.most > keptPlaces { // a map does not shrink
		b.byKey, b.most = nil, 0
	}
}
