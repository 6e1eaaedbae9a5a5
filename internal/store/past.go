package store

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/object"
)

// past is the changes of the history that replaced a state, in the order of keys and then of revisions: what tells how one
// key stood at an older revision without a look at everything that changed since. What only made an object is not in it:
// a live object of a later revision that replaced nothing was not there before. Its copies and its concurrency are those
// of a tree.
type past struct {
	nodes *btree.BTreeG[*object.Event]
	// pivots are events that have nothing but a key and a revision, to search by.
	pivots *sync.Pool
}

func newPast() *past {
	less := func(a, b *object.Event) bool {
		if a.Object.Key != b.Object.Key {
			return a.Object.Key < b.Object.Key
		}
		return a.Object.Revision < b.Object.Revision
	}
	return &past{
		nodes:  btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
		pivots: &sync.Pool{New: func() any { return &object.Event{Object: new(object.Object)} }},
	}
}

func (p *past) add(e *object.Event) {
	if e.Previous != nil {
		p.nodes.Set(e)
	}
}

func (p *past) drop(e *object.Event) {
	if e.Previous != nil {
		p.nodes.Delete(e)
	}
}

func (p *past) copy() *past { return &past{nodes: p.nodes.Copy(), pivots: p.pivots} }

// seek moves an iterator to the first change of a key at or after a revision, or of the next key that has one.
func (p *past) seek(iter *btree.IterG[*object.Event], key object.Key, revision object.Revision) bool {
	pivot := p.pivots.Get().(*object.Event)
	pivot.Object.Key, pivot.Object.Revision = key, revision
	found := iter.Seek(pivot)
	pivot.Object.Key = ""
	p.pivots.Put(pivot)
	return found
}

// get is the state of a key at a revision after which it changed; nil when it was absent then.
func (p *past) get(key object.Key, revision object.Revision) *object.Object {
	iter := p.nodes.Iter()
	if !p.seek(&iter, key, revision+1) || iter.Item().Key() != key {
		return nil
	}
	return existing(iter.Item().Previous, revision)
}

// existing is o if it was there at a revision.
func existing(o *object.Object, revision object.Revision) *object.Object {
	if o.Revision > revision {
		return nil
	}
	return o
}

// replaced goes through the states of a revision that were replaced since, in the order of their keys.
type replaced struct {
	past     *past
	iter     btree.IterG[*object.Event]
	below    object.Key
	revision object.Revision
	// object is the state that the walk is at; nil at the end.
	object *object.Object
}

// since begins the walk: from a key on, below another.
func (p *past) since(revision object.Revision, from, below object.Key) *replaced {
	r := &replaced{past: p, iter: p.nodes.Iter(), below: below, revision: revision}
	r.find(p.seek(&r.iter, from, 0))
	return r
}

// next goes on to the next key.
func (r *replaced) next() { r.find(r.skip(r.object.Key)) }

// find looks for the next state from where the iterator is, if it is anywhere.
func (r *replaced) find(more bool) {
	r.object = nil
	for more {
		e := r.iter.Item()
		key := e.Key()
		switch {
		case key >= r.below:
			return
		case e.Revision() <= r.revision:
			more = r.past.seek(&r.iter, key, r.revision+1)
			continue
		}
		if r.object = existing(e.Previous, r.revision); r.object != nil {
			return
		}
		more = r.skip(key)
	}
}

// skip leaves a key whose changes may be many.
func (r *replaced) skip(key object.Key) bool {
	if !r.iter.Next() {
		return false
	}
	return r.iter.Item().Key() != key || r.past.seek(&r.iter, key, ^object.Revision(0))
}
