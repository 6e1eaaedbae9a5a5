package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	google "github.com/google/btree"
	tidwall "github.com/tidwall/btree"

	"github.com/bowline-dev/bowline/internal/object"
)

// entry is an object with its key.
type entry struct {
	key    object.Key
	object *object.Object
}

func lessEntry(a, b entry) bool { return a.key < b.key }

// candidate is an implementation of the copy-on-write tree. Each library is tested with the items that it
// could hold: the object alone, or with its key. See docs/decisions/0001-btree.md.
type candidate interface {
	set(o *object.Object)
	get(k object.Key) *object.Object
	walk(yield func(*object.Object) bool)
	fork() candidate
}

type tidwallPointers struct {
	*tidwall.BTreeG[*object.Object]
}

func lessPointer(a, b *object.Object) bool { return a.Key < b.Key }

func pivot(k object.Key) *object.Object { return &object.Object{Header: object.Header{Key: k}} }

func newTidwallPointers() candidate {
	return tidwallPointers{tidwall.NewBTreeGOptions(lessPointer, tidwall.Options{NoLocks: true})}
}
func (t tidwallPointers) set(o *object.Object)                 { t.Set(o) }
func (t tidwallPointers) get(k object.Key) *object.Object      { o, _ := t.Get(pivot(k)); return o }
func (t tidwallPointers) walk(yield func(*object.Object) bool) { t.Scan(yield) }
func (t tidwallPointers) fork() candidate                      { return tidwallPointers{t.Copy()} }

// tidwallMarked is the store's own tree: see item.
type tidwallMarked struct{ *tree }

func newTidwallMarked() candidate { return tidwallMarked{newTree()} }
func (t tidwallMarked) walk(yield func(*object.Object) bool) {
	t.nodes.Scan(func(i item) bool { return yield(i.object) })
}
func (t tidwallMarked) fork() candidate { return tidwallMarked{t.copy()} }

type tidwallKeyed struct {
	*tidwall.BTreeG[entry]
}

func newTidwallKeyed() candidate {
	return tidwallKeyed{tidwall.NewBTreeGOptions(lessEntry, tidwall.Options{NoLocks: true})}
}
func (t tidwallKeyed) set(o *object.Object)            { t.Set(entry{o.Key, o}) }
func (t tidwallKeyed) get(k object.Key) *object.Object { e, _ := t.Get(entry{key: k}); return e.object }
func (t tidwallKeyed) walk(yield func(*object.Object) bool) {
	t.Scan(func(e entry) bool { return yield(e.object) })
}
func (t tidwallKeyed) fork() candidate { return tidwallKeyed{t.Copy()} }

type googleKeyed struct {
	*google.BTreeG[entry]
}

func newGoogleKeyed() candidate                       { return googleKeyed{google.NewG(32, lessEntry)} }
func (t googleKeyed) set(o *object.Object)            { t.ReplaceOrInsert(entry{o.Key, o}) }
func (t googleKeyed) get(k object.Key) *object.Object { e, _ := t.Get(entry{key: k}); return e.object }
func (t googleKeyed) walk(yield func(*object.Object) bool) {
	t.Ascend(func(e entry) bool { return yield(e.object) })
}
func (t googleKeyed) fork() candidate { return googleKeyed{t.Clone()} }

type googlePointers struct {
	*google.BTreeG[*object.Object]
}

func newGooglePointers() candidate                            { return googlePointers{google.NewG(32, lessPointer)} }
func (t googlePointers) set(o *object.Object)                 { t.ReplaceOrInsert(o) }
func (t googlePointers) get(k object.Key) *object.Object      { o, _ := t.Get(pivot(k)); return o }
func (t googlePointers) walk(yield func(*object.Object) bool) { t.Ascend(yield) }
func (t googlePointers) fork() candidate                      { return googlePointers{t.Clone()} }

// BenchmarkTree compares the candidates on 100,000 keys: a lookup, a replacement, a replacement right after a
// copy, a walk over all objects, and the tree's own memory per object.
func BenchmarkTree(b *testing.B) {
	const n = 100_000
	objects := make([]*object.Object, n)
	for i, at := range rand.Perm(n) {
		objects[at] = pivot(object.Key(fmt.Sprintf("/configmaps/default/object-%06d", i)))
	}
	for _, c := range []struct {
		name string
		make func() candidate
	}{
		{"tidwall-object", newTidwallPointers},
		{"tidwall-mark+object", newTidwallMarked},
		{"tidwall-key+object", newTidwallKeyed},
		{"google-object", newGooglePointers},
		{"google-key+object", newGoogleKeyed},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkCandidate(b, objects, c.make) })
	}
}

func benchmarkCandidate(b *testing.B, objects []*object.Object, make func() candidate) {
	before := liveHeap()
	tree := make()
	for _, o := range objects {
		tree.set(o)
	}
	perObject := float64(liveHeap()-before) / float64(len(objects))
	pick := func() *object.Object { return objects[rand.IntN(len(objects))] }
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.get(pick().Key)
		}
		b.ReportMetric(perObject, "B/object")
	})
	b.Run("set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.set(pick())
		}
	})
	b.Run("fork+set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.fork()
			tree.set(pick())
		}
	})
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			tree.walk(func(*object.Object) bool { return true })
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(objects)), "ns/object")
	})
}

// BenchmarkSelect selects 1,000 of 100,000 objects by a label: with the marks in the tree, or by reading each
// object.
func BenchmarkSelect(b *testing.B) {
	tree := newTree()
	for i := range 100_000 { // the key order differs from the memory order
		key := object.Key(fmt.Sprintf("/configmaps/n-%02d/m-%06d", i%100, i))
		tree.set(object.New(object.Header{Key: key, Labels: map[string]string{"share": fmt.Sprint(i / 100 % 100)}}, nil,
			object.Encoding{}))
	}
	want := object.MarkLabel("share", "7")
	for name, may := range map[string]func(item) bool{
		"marks":   func(i item) bool { return i.mark.MayHave(want) },
		"objects": func(i item) bool { return i.object.Mark().MayHave(want) },
	} {
		b.Run(name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				tree.ascend("/configmaps/", func(i item) bool {
					if may(i) {
						found++
					}
					return true
				})
			}
			b.ReportMetric(float64(found)/float64(b.N), "found")
		})
	}
}

// liveHeap returns the size of the reachable heap.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
