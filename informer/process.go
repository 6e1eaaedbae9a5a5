package informer

import (
	"cmp"
	"slices"

	"github.com/bowline-dev/bowline/internal/object"
)

// mostAtOnce is the number of objects that are applied while the cache is locked, before readers get a turn.
const mostAtOnce = 256

// process applies a batch, which completes all changes up to a revision, to the cache and the handlers.
func (i *Informer[T]) process(batch []*pending[T], upTo object.Revision) {
	i.settle(batch)
	i.mu.Lock()
	defer i.mu.Unlock()
	for some := range slices.Chunk(batch, mostAtOnce) {
		i.apply(some)
		for _, l := range i.listeners {
			l.tell(i.news)
		}
		clear(i.news)
		i.news = i.news[:0]
	}
	if len(batch) > 0 && len(i.listeners) > 0 {
		i.watchHandlers()
	}
	i.progress.made(upTo)
}

// apply changes the cache and collects the notices for the handlers.
func (i *Informer[T]) apply(some []*pending[T]) {
	i.indexer.mu.Lock()
	defer i.indexer.mu.Unlock()
	for _, p := range some {
		if p.endList {
			i.filled = true
			close(i.synced)
			i.tell(notice[T]{kind: noticeSynced})
		}
		for _, d := range p.deltas {
			i.happened(d, i.indexer.states[p.key])
		}
	}
}

// happened applies one delta to the cached state of its object, which may be nil.
func (i *Informer[T]) happened(d delta[T], cached *state[T]) {
	switch {
	case d.vanished:
		i.tell(notice[T]{kind: noticeVanish, old: d.state})
	case d.Type == deltaDeleted:
		i.deleted(d, cached)
	case d.Type == deltaSync:
		if cached != nil {
			i.tell(notice[T]{kind: noticeSync, new: cached})
		}
	case i.isUnreadable(d.state):
		i.misread(d, cached)
	case cached == nil:
		i.replaceUnread(d.state)
		i.store(d.state)
		i.tell(notice[T]{kind: noticeAdd, new: d.state, flag: !i.filled})
	default:
		i.changed(d, cached)
	}
}

// deleted removes an object, unless the deletion is older than the cached state. The notice has the last
// state that could be decoded.
func (i *Informer[T]) deleted(d delta[T], cached *state[T]) {
	known := cmp.Or(cached, i.indexer.unread[d.state.key])
	if known == nil || !d.unknown && d.state.older(known) {
		return
	}
	if cached == nil {
		delete(i.indexer.unread, d.state.key)
		i.tell(notice[T]{kind: noticeVanish, old: d.state})
		return
	}
	if i.isUnreadable(d.state) {
		d.state, d.unknown = cached, true
	}
	i.remove(cached, d.state, d.unknown)
}

// remove removes a cached object. last is its last state.
func (i *Informer[T]) remove(cached, last *state[T], unknown bool) {
	i.release(cached)
	i.indexer.remove(cached)
	delete(i.progress.passed, cached.key)
	i.tell(notice[T]{kind: noticeDelete, old: last, flag: unknown})
}

// changed replaces a cached object by a newer state. Duplicate and late states are dropped. If the UID
// differs, the deletion of the previous object was not observed.
func (i *Informer[T]) changed(d delta[T], cached *state[T]) {
	other := d.state.uid() != cached.uid()
	seen := d.state.revision == cached.revision && !other || isWatched(d.Type) && d.state.older(cached)
	if seen && !d.restored {
		return
	}
	_, misread := i.progress.passed[cached.key]
	i.release(cached)
	i.store(d.state)
	if other {
		i.tell(notice[T]{kind: noticeDelete, old: cached, flag: true})
		i.tell(notice[T]{kind: noticeAdd, new: d.state})
		return
	}
	i.tell(notice[T]{kind: noticeUpdate, old: cached, new: d.state, flag: d.merged || d.Type == deltaReplaced ||
		misread})
}

func (i *Informer[T]) store(s *state[T]) {
	delete(i.progress.passed, s.key)
	if obj, ok := s.shown(); ok {
		i.detect.hold(obj)
	}
	i.indexer.put(s)
}

// release checks an object that leaves the cache for mutations.
func (i *Informer[T]) release(s *state[T]) {
	if obj, ok := s.shown(); ok {
		i.detect.release(obj)
	}
	if s.late != nil {
		s.late.leave()
	}
}

func (i *Informer[T]) tell(n notice[T]) { i.news = append(i.news, n) }
