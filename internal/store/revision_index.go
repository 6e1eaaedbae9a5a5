package store

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/internal/object"
)

// revisionIndex holds the events of the history that replaced a state, ordered by key and revision. It yields the
// state of a key at an older revision without scanning everything that changed since. Events that created an
// object are not included: a live object of a later revision that replaced nothing was absent before. Copies
// are copy-on-write, with the same concurrency rules as tree.
type revisionIndex struct {
	nodes *btree.BTreeG[*object.Event]
	// pivots are events with only a key and a revision, used for searching.
	pivots *sync.Pool
}

func newRevisionIndex() *revisionIndex {
	less := func(a, b *object.Event) bool {
		if a.Object.Key != b.Object.Key {
			return a.Object.Key < b.Object.Key
		}
		return a.Object.Revision < b.Object.Revision
	}
	return &revisionIndex{
		nodes:  btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
		pivots: &sync.Pool{New: func() any { return &object.Event{Object: new(object.Object)} }},
	}
}

func (p *revisionIndex) add(e *object.Event) {
	if e.Previous != nil {
		p.nodes.Set(e)
	}
}

func (p *revisionIndex) drop(e *object.Event) {
	if e.Previous != nil {
		p.nodes.Delete(e)
	}
}

func (p *revisionIndex) copy() *revisionIndex {
	return &revisionIndex{nodes: p.nodes.Copy(), pivots: p.pivots}
}

// seek moves an iterator to the first change of a key at or after a revision, or else to the next change.
func (p *revisionIndex) seek(iter *btree.IterG[*object.Event], key object.Key, revision object.Revision) bool {
	pivot := p.pivots.Get().(*object.Event)
	pivot.Object.Key, pivot.Object.Revision = key, revision
	found := iter.Seek(pivot)
	pivot.Object.Key = ""
	p.pivots.Put(pivot)
	return found
}

// get returns the state of a key at an older revision, for a key that changed since; nil if it was absent.
func (p *revisionIndex) get(key object.Key, revision object.Revision) *object.Object {
	iter := p.nodes.Iter()
	if !p.seek(&iter, key, revision+1) || iter.Item().Key() != key {
		return nil
	}
	return existing(iter.Item().Previous, revision)
}

// existing returns o if it existed at a revision, else nil.
func existing(o *object.Object, revision object.Revision) *object.Object {
	if o.Revision > revision {
		return nil
	}
	return o
}

// replaced iterates in key order over the states of a revision that were replaced since.
type replaced struct {
	index    *revisionIndex
	iter     btree.IterG[*object.Event]
	below    object.Key
	revision object.Revision
	// object is the current state; nil at the end.
	object *object.Object
}

// since starts an iteration over the keys in [from, below).
func (p *revisionIndex) since(revision object.Revision, from, below object.Key) *replaced {
	r := &replaced{index: p, iter: p.nodes.Iter(), below: below, revision: revision}
	r.find(p.seek(&r.iter, from, 0))
	return r
}

// next advances to the next key.
func (r *replaced) next() { r.find(r.skip(r.object.Key)) }

// find advances to the next state, starting at the iterator's position; more reports whether that is valid.
func (r *replaced) find(more bool) {
	r.object = nil
	for more {
		e := r.iter.Item()
		key := e.Key()
		switch {
		case key >= r.below:
			return
		case e.Revision() <= r.revision:
			more = r.index.seek(&r.iter, key, r.revision+1)
			continue
		}
		if r.object = existing(e.Previous, r.revision); r.object != nil {
			return
		}
		more = r.skip(key)
	}
}

// skip advances past a key, which may have many changes.
func (r *replaced) skip(key object.Key) bool {
	if !r.iter.Next() {
		return false
	}
	return r.iter.Item().Key() != key || r.index.seek(&r.iter, key, ^object.Revision(0))
}
