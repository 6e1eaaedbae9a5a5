package store

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/internal/object"
)

// revisionIndex holds the events of the history that replaced or deleted a state, ordered by key and revision. It
// finds the state of a key at an older revision without a scan of everything that changed since. It does not include
// events that created an object: a live object with a later revision and no such event did not exist before. Copies
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

func (x *revisionIndex) add(e *object.Event) {
	if e.Previous != nil {
		x.nodes.Set(e)
	}
}

func (x *revisionIndex) drop(e *object.Event) {
	if e.Previous != nil {
		x.nodes.Delete(e)
	}
}

func (x *revisionIndex) copy() *revisionIndex {
	return &revisionIndex{nodes: x.nodes.Copy(), pivots: x.pivots}
}

// seek moves an iterator to the first change of a key at or after a revision; if the key has none, to the first
// change of the next key. It reports whether the iterator is valid.
func (x *revisionIndex) seek(iter *btree.IterG[*object.Event], key object.Key, revision object.Revision) bool {
	pivot := x.pivots.Get().(*object.Event)
	pivot.Object.Key, pivot.Object.Revision = key, revision
	found := iter.Seek(pivot)
	pivot.Object.Key = ""
	x.pivots.Put(pivot)
	return found
}

// get returns the state that a key had at an older revision and that was replaced since; nil if it was absent.
func (x *revisionIndex) get(key object.Key, revision object.Revision) *object.Object {
	iter := x.nodes.Iter()
	if !x.seek(&iter, key, revision+1) || iter.Item().Key() != key {
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

// replaced iterates in key order over the states at a revision that were replaced since.
type replaced struct {
	index    *revisionIndex
	iter     btree.IterG[*object.Event]
	below    object.Key
	revision object.Revision
	// object is the state at the iterator's position; nil at the end.
	object *object.Object
}

// since starts an iteration over the keys in [from, below).
func (x *revisionIndex) since(revision object.Revision, from, below object.Key) *replaced {
	r := &replaced{index: x, iter: x.nodes.Iter(), below: below, revision: revision}
	r.find(x.seek(&r.iter, from, 0))
	return r
}

// next advances to the next key.
func (r *replaced) next() { r.find(r.skip(r.object.Key)) }

// find sets object to the first replaced state at or after the iterator's position, which is valid if more is true.
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

// skip advances past all changes of a key, and reports whether the iterator is valid.
func (r *replaced) skip(key object.Key) bool {
	if !r.iter.Next() {
		return false
	}
	return r.iter.Item().Key() != key || r.index.seek(&r.iter, key, ^object.Revision(0))
}
