package informer

import "github.com/bowline-dev/bowline/client"

// notice is one pending call of a handler.
type notice[T client.Object] struct {
	kind     noticeKind
	old, new *state[T] // for a deletion, old is the last state and new is nil
	flag     bool      // isInInitialList, finalStateUnknown or, for an update, whether states were left out
}

type noticeKind uint8

const (
	noticeAdd noticeKind = iota
	noticeUpdate
	noticeSync // a resync of new
	noticeDelete
	noticeVanish // old was created and deleted without a notice; it may be only a trace (see state.trace)
	noticeSynced // the initial list is complete
)

// backlog holds the pending notifications of a handler, in the order in which their objects entered it. It holds at
// most a deletion and an addition, or an update, per key. It is not safe for concurrent use.
type backlog[T client.Object] struct {
	byKey       map[Key]*backlogEntry[T]
	first, last *backlogEntry[T]
	length      int
	peak        int // largest length since byKey was made
	// reportVanished is set for a VanishHandler. vanished counts the vanished objects; lost counts those that did not
	// fit since the backlog was empty.
	reportVanished bool
	vanished, lost int
}

// Bounds on the vanished objects that wait for a VanishHandler: with their states, and in total.
const (
	maxVanished = 1024
	maxTraces   = 128 << 10
)

// maxRetained is the largest peak length at which an empty backlog retains its map.
const maxRetained = 8

// backlogEntry holds the pending notifications for one key.
type backlogEntry[T client.Object] struct {
	key Key
	// deleted is the last state of an object whose deletion is reported first, or nil.
	deleted *state[T]
	// vanished holds the last states, or traces, of objects of the key that were created and deleted meanwhile, for a
	// VanishHandler.
	vanished []*state[T]
	// new is the current state: an update of old, an addition if old is nil, or a resync if both are equal.
	// It is nil if there is no object now.
	old, new *state[T]
	// unknown, initial and merged are the flags of the deletion, the addition and the update.
	unknown, initial, merged bool
	// synced marks the end of the initial list; the entry has no object.
	synced bool

	before, after *backlogEntry[T]
}

// add adds a notice and merges it with those pending for the same key.
func (b *backlog[T]) add(n notice[T]) {
	switch n.kind {
	case noticeAdd:
		u := b.entry(n.new.key)
		u.old, u.new, u.initial = nil, n.new, n.flag
	case noticeUpdate:
		u := b.entry(n.new.key)
		u.merged = n.flag || u.new != nil
		if u.new == nil {
			u.old = n.old
		}
		u.new = n.new
	case noticeSync:
		if b.byKey[n.new.key] == nil {
			u := b.entry(n.new.key)
			u.old, u.new = n.new, n.new
		}
	case noticeDelete:
		b.delete(n)
	case noticeVanish:
		if b.reportVanished {
			b.vanish(b.entry(n.old.key), n.old)
		}
	case noticeSynced:
		b.push(&backlogEntry[T]{synced: true})
	}
}

// delete adds a deletion. A handler that was never notified of the object gets no call, unless it is a VanishHandler.
func (b *backlog[T]) delete(n notice[T]) {
	u := b.entry(n.old.key)
	neverNotified := u.new != nil && u.old == nil
	u.old, u.new, u.initial = nil, nil, false
	switch {
	case !neverNotified:
		u.deleted, u.unknown = n.old, n.flag
	case b.reportVanished:
		b.vanish(u, n.old)
	case u.deleted == nil:
		b.drop(u)
	}
}

// vanish records an object that was created and deleted without a notice, for a VanishHandler.
func (b *backlog[T]) vanish(u *backlogEntry[T], s *state[T]) {
	otherwiseEmpty := u.deleted == nil && u.new == nil && len(u.vanished) == 0
	if b.vanished >= maxTraces {
		b.lost++
		if otherwiseEmpty {
			b.drop(u)
		}
		return
	}
	if b.vanished >= maxVanished {
		s = s.trace(errTrace)
		if otherwiseEmpty { // the key may share memory with the object
			delete(b.byKey, u.key)
			u.key = s.key
			b.byKey[u.key] = u
		}
	}
	b.vanished++
	u.vanished = append(u.vanished, s)
}

// entry returns the entry of a key, appending one if needed.
func (b *backlog[T]) entry(key Key) *backlogEntry[T] {
	u := b.byKey[key]
	if u == nil {
		u = &backlogEntry[T]{key: key}
		if b.byKey == nil {
			b.byKey = map[Key]*backlogEntry[T]{}
		}
		b.byKey[key] = u
		b.push(u)
	}
	return u
}

// push appends an entry.
func (b *backlog[T]) push(u *backlogEntry[T]) {
	b.length++
	b.peak = max(b.peak, b.length)
	u.before = b.last
	if b.last == nil {
		b.first = u
	} else {
		b.last.after = u
	}
	b.last = u
}

// dequeue removes and returns the first entry; nil if there is none.
func (b *backlog[T]) dequeue() *backlogEntry[T] {
	u := b.first
	if u != nil {
		b.drop(u)
	}
	return u
}

// drop removes an entry.
func (b *backlog[T]) drop(u *backlogEntry[T]) {
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
	if b.peak > maxRetained { // a map does not shrink
		b.byKey, b.peak = nil, 0
	}
}
