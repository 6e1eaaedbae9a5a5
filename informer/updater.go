package informer

import (
	"cmp"

	"github.com/bowline-dev/bowline/client"
)

// updater applies deltas to the cache and collects the notices for the handlers. The informer's lock guards it.
type updater[T client.Object] struct {
	indexer *Indexer[T]
	lazy    bool // states are decoded when they are read: see Options.Lazy
	detect  *Mutations

	filled   bool          // the first list has been applied
	synced   chan struct{} // closed when filled is set
	notices  []notice[T]   // of the last call of apply
	progress progress
}

// apply applies the deltas of entries to the cache and sets notices.
func (u *updater[T]) apply(chunk []*pending[T]) {
	u.indexer.mu.Lock()
	defer u.indexer.mu.Unlock()
	for _, p := range chunk {
		if p.endList {
			u.filled = true
			close(u.synced)
			u.notify(notice[T]{kind: noticeSynced})
		}
		for _, d := range p.deltas {
			u.applyDelta(d, u.indexer.states[p.key])
		}
	}
}

// applyDelta applies one delta to the cached state of its object, which may be nil.
func (u *updater[T]) applyDelta(d delta[T], cached *state[T]) {
	switch {
	case d.vanished:
		u.notify(notice[T]{kind: noticeVanish, old: d.state})
	case d.Type == deltaDeleted:
		u.deleted(d, cached)
	case d.Type == deltaSync:
		if cached != nil {
			u.notify(notice[T]{kind: noticeSync, new: cached})
		}
	case u.isUnreadable(d.state):
		u.applyUnreadable(d, cached)
	case cached == nil:
		u.removeUnreadable(d.state)
		u.store(d.state)
		u.notify(notice[T]{kind: noticeAdd, new: d.state, flag: !u.filled})
	default:
		u.changed(d, cached)
	}
}

// deleted removes an object, unless the deletion is older than the cached state. The notice has the last
// state that could be decoded.
func (u *updater[T]) deleted(d delta[T], cached *state[T]) {
	known := cmp.Or(cached, u.indexer.unreadable[d.state.key])
	if known == nil || !d.unknown && d.state.older(known) {
		return
	}
	if cached == nil {
		delete(u.indexer.unreadable, d.state.key)
		u.notify(notice[T]{kind: noticeVanish, old: d.state})
		return
	}
	if u.isUnreadable(d.state) {
		d.state, d.unknown = cached, true
	}
	u.remove(cached, d.state, d.unknown)
}

// remove removes a cached object. last is its last state.
func (u *updater[T]) remove(cached, last *state[T], unknown bool) {
	u.release(cached)
	u.indexer.remove(cached)
	delete(u.progress.skipped, cached.key)
	u.notify(notice[T]{kind: noticeDelete, old: last, flag: unknown})
}

// changed replaces a cached object by a newer state. It drops duplicate and late states. If the UID
// differs, the deletion of the previous object was not observed.
func (u *updater[T]) changed(d delta[T], cached *state[T]) {
	recreated := d.state.uid() != cached.uid()
	outdated := d.state.revision == cached.revision && !recreated || isWatched(d.Type) && d.state.older(cached)
	if outdated && !d.restored {
		return
	}
	_, skipped := u.progress.skipped[cached.key]
	u.release(cached)
	u.store(d.state)
	if recreated {
		u.notify(notice[T]{kind: noticeDelete, old: cached, flag: true})
		u.notify(notice[T]{kind: noticeAdd, new: d.state})
		return
	}
	u.notify(notice[T]{kind: noticeUpdate, old: cached, new: d.state, flag: d.merged || d.Type == deltaReplaced ||
		skipped})
}

func (u *updater[T]) store(s *state[T]) {
	delete(u.progress.skipped, s.key)
	if obj, ok := s.shown(); ok {
		u.detect.hold(obj)
	}
	u.indexer.put(s)
}

// release checks an object that leaves the cache for mutations.
func (u *updater[T]) release(s *state[T]) {
	if obj, ok := s.shown(); ok {
		u.detect.release(obj)
	}
	if s.encoded != nil {
		s.encoded.leave()
	}
}

func (u *updater[T]) notify(n notice[T]) { u.notices = append(u.notices, n) }

// clearNotices drops the notices after the handlers received them. They would otherwise retain objects.
func (u *updater[T]) clearNotices() {
	clear(u.notices)
	u.notices = u.notices[:0]
}
