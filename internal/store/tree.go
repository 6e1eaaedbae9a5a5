package store

import (
	"sort"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/internal/object"
)

// tree is an ordered set of objects by key with copy-on-write copies. Reads may run concurrently with each
// other and with changes of copies; set, delete and copy require exclusive access.
// docs/decisions/0001-btree.md explains the choice of library.
type tree struct {
	nodes *btree.BTreeG[item]
	// pivots are objects with only a key, used for searching, because the library compares whole items.
	pivots *sync.Pool
}

// item is an object and the mark of its labels. A selection by label compares marks and reads few objects: reading
// one that is not in the processor's cache takes as long as comparing ten marks.
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

// find calls search with a pivot for the key.
func (t *tree) find(key object.Key, search func(pivot item)) {
	pivot := t.pivots.Get().(*object.Object)
	pivot.Key = key
	search(item{object: pivot})
	pivot.Key = ""
	t.pivots.Put(pivot)
}

// get returns the object at a key, nil if absent.
func (t *tree) get(key object.Key) (o *object.Object) {
	t.find(key, func(pivot item) {
		found, _ := t.nodes.Get(pivot)
		o = found.object
	})
	return o
}

func (t *tree) set(o *object.Object) { t.nodes.Set(itemOf(o)) }

// load is like set, and faster if keys arrive in order.
func (t *tree) load(o *object.Object) { t.nodes.Load(itemOf(o)) }

func (t *tree) delete(key object.Key) {
	t.find(key, func(pivot item) { t.nodes.Delete(pivot) })
}

func (t *tree) copy() *tree { return &tree{nodes: t.nodes.Copy(), pivots: t.pivots} }

// ascend yields the items with keys at or above from, in key order.
func (t *tree) ascend(from object.Key, yield func(item) bool) {
	t.find(from, func(pivot item) { t.nodes.Ascend(pivot, yield) })
}

// rank returns how many keys are below key, in time quadratic in the height of the tree.
func (t *tree) rank(key object.Key) int {
	return sort.Search(t.nodes.Len(), func(i int) bool {
		at, _ := t.nodes.GetAt(i)
		return at.object.Key >= key
	})
}

// covers reports whether a prefix, as Watch and Scan define it, contains a key: a resource or namespace
// prefix ends with a slash and contains all keys that begin with it; anything else is one full key.
func covers(prefix, key object.Key) bool {
	if strings.HasSuffix(string(prefix), "/") {
		return strings.HasPrefix(string(key), string(prefix))
	}
	return prefix == key
}

// levels returns the prefixes that contain a key: its resource, its namespace, and itself.
func levels(key object.Key) [3]object.Key {
	s := string(key)
	group := strings.IndexByte(s, '/') + 1
	resource := group + strings.IndexByte(s[group:], '/') + 1
	namespace := resource + strings.IndexByte(s[resource:], '/') + 1
	return [3]object.Key{key[:resource], key[:namespace], key}
}
