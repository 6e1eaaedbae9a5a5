package informer

import "github.com/bowline-dev/bowline/client"

// notice is one call that a handler is to get.
type notice[T client.Object] struct {
	kind     noticeKind
	old, new *state[T] // of a deletion, old
	flag     bool      // isInInitialList or finalStateUnknown; of an update, that states between old and new are left out
}

type noticeKind uint8

const (
	noticeAdd noticeKind = iota
	noticeUpdate
	noticeSync // new is to be looked at again
	noticeDelete
	noticeVanish // old came and went; a trace
	noticeSynced // the initial list has been handed over
)

// backlog is what a handler has not been told yet, in the order in which the objects first came into it. It holds a
// deletion and an addition, or an update, of each object at the most. It is for one goroutine at a time.
type backlog[T client.Object] struct {
	byKey       map[Key]*untold[T]
	first, last *untold[T]
	length      int
	most        int // places that it has had since byKey was made
	// thorough has objects kept that came and went, vanished of them by now, and lost more than fitted since it was empty.
	thorough       bool
	vanished, lost int
}

// How many objects that came and went wait for a handler that is Thorough: with their states, and in all.
const (
	mostVanished = 1024
	mostTraces   = 128 << 10
)

// keptPlaces is how many places a backlog may have had that keeps its map when it is empty.
const keptPlaces = 8

// untold is a place in a backlog.
type untold[T client.Object] struct {
	key Key
	// gone is the last state of an object whose deletion comes first, or nil.
	gone *state[T]
	// vanished are the last states, or traces, of objects of the key that came and went after it, for a handler that is Thorough.
	vanished []*state[T]
	// new is the state after old, or of an addition when that is nil, or, when that is the same, one to be looked at again.
	// It is nil when the object stays away.
	old, new *state[T]
	// unknown, initial and merged are the flags of the deletion, of the addition and of the update.
	unknown, initial, merged bool
	// synced says that this is no object but the end of the initial list.
	synced bool

	before, after *untold[T]
}

// add puts a notice in, together with what waits for the same object.
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

// delete puts a deletion in. An object that the handler has never heard of it will not hear of, unless it is Thorough.
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

// vanish puts in that an object came and went, for a handler that is Thorough.
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
		if alone { // the key may be a part of the object
			delete(b.byKey, u.key)
			u.key = s.key
			b.byKey[u.key] = u
		}
	}
	b.vanished++
	u.vanished = append(u.vanished, s)
}

// place is that of a key, at the end if it is new.
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

// push puts a place at the end.
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

// take takes the first place out; nil when there is none.
func (b *backlog[T]) take() *untold[T] {
	u := b.first
	if u != nil {
		b.drop(u)
	}
	return u
}

// drop takes a place out.
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
