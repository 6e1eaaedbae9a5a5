package store

import (
	"sort"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/object"
)

// tree is an ordered set of objects by key, with copies that cost nothing until one of the two changes. Reads of one
// tree may run beside each other and beside changes of its copies; set, delete and copy are for one goroutine at a time.
// docs/decisions/0001-btree.md tells why it is this library.
type tree struct {
	nodes *btree.BTreeG[item]
	// pivots are objects that have nothing but a key, to search by: the library compares items only.
	pivots *sync.Pool
}

// item is an object with the mark of its labels beside it, so that a selection by label looks into few objects: a look
// into one that the processor has not at hand takes as long as ten marks.
type item struct {
	mark   object.Mark
	object *object.Object
}

func itemOf(o *object.Object) item { return item{o.Mark(), o} }

func newTree() *tree {
	less := func(a, b item) bool { return a.object.Key < b.object.Key }
	return &tree{
		nodes:  btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
		pivots: &sync.Pool{New: func() any { return new(object.Object) }},
	}
}

// find runs a search with a pivot at the key.
func (t *tree) find(key object.Key, search func(pivot item)) {
	pivot := t.pivots.Get().(*object.Object)
	pivot.Key = key
	search(item{object: pivot})
	pivot.Key = ""
	t.pivots.Put(pivot)
}

// get is nil when the key is absent.
func (t *tree) get(key object.Key) (o *object.Object) {
	t.find(key, func(pivot item) {
		found, _ := t.nodes.Get(pivot)
		o = found.object
	})
	return o
}

func (t *tree) set(o *object.Object) { t.nodes.Set(itemOf(o)) }

// load is set, quicker when keys come in order.
func (t *tree) load(o *object.Object) { t.nodes.Load(itemOf(o)) }

func (t *tree) delete(key object.Key) {
	t.find(key, func(pivot item) { t.nodes.Delete(pivot) })
}

func (t *tree) copy() *tree { return &tree{nodes: t.nodes.Copy(), pivots: t.pivots} }

// ascend yields the items from the first key that is not below from.
func (t *tree) ascend(from object.Key, yield func(item) bool) {
	t.find(from, func(pivot item) { t.nodes.Ascend(pivot, yield) })
}

// rank is how many keys are below key, in time that grows with the square of the tree's height.
func (t *tree) rank(key object.Key) int {
	return sort.Search(t.nodes.Len(), func(i int) bool {
		at, _ := t.nodes.GetAt(i)
		return at.object.Key >= key
	})
}

// covers says whether a prefix, as Watch and Scan take it, holds a key: a resource or a namespace ends with a slash and
// holds what begins with it; everything else is one full key.
func covers(prefix, key object.Key) bool {
	if strings.HasSuffix(string(prefix), "/") {
		return strings.HasPrefix(string(key), string(prefix))
	}
	return prefix == key
}

// levels are the prefixes that hold a key: its resource, its namespace, itself.
func levels(key object.Key) [3]object.Key {
	s := string(key)
	group := strings.IndexByte(s, '/') + 1
	resource := group + strings.IndexByte(s[group:], '/') + 1
	namespace := resource + strings.IndexByte(s[resource:], '/') + 1
	return [3]object.Key{key[:resource], key[:namespace], key}
}
