package informer

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// Key names an object of one resource.
type Key = types.NamespacedName

// KeyOf is the key of an object.
func KeyOf(obj client.Object) Key {
	return Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// compareKeys orders keys by namespace, then by name.
func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// IndexFunc is the values under which an index finds an object. It must depend on the object alone.
type IndexFunc[T client.Object] func(obj T) []string

// Indexer is the cache of an informer: objects by key, and by the values of named indexes. It may be read by many
// goroutines. Objects in it are shared, with the server itself when that is in the same process: copy before changing.
// Lists come in no order.
type Indexer[T client.Object] struct {
	mu      sync.RWMutex
	objects map[Key]T
	indexes map[string]*index[T]
}

// index finds keys by a value.
type index[T client.Object] struct {
	values IndexFunc[T]
	keys   map[string]map[Key]struct{}
}

// byNamespace is the index that every indexer has.
const byNamespace = "namespace"

func newIndexer[T client.Object](indexes map[string]IndexFunc[T]) *Indexer[T] {
	x := &Indexer[T]{objects: map[Key]T{}, indexes: map[string]*index[T]{}}
	x.addIndex(byNamespace, func(obj T) []string { return []string{obj.GetNamespace()} })
	for name, values := range indexes {
		x.addIndex(name, values)
	}
	return x
}

// Get finds one object.
func (x *Indexer[T]) Get(key Key) (T, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	obj, ok := x.objects[key]
	return obj, ok
}

// List is all objects.
func (x *Indexer[T]) List() []T {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.AppendSeq(make([]T, 0, len(x.objects)), maps.Values(x.objects))
}

// Len is how many objects there are.
func (x *Indexer[T]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.objects)
}

// AddIndex adds an index, of what is there already too. Adding a name again does nothing: informers are shared, and
// whoever needs an index asks for it.
func (x *Indexer[T]) AddIndex(name string, values IndexFunc[T]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addIndex(name, values)
}

func (x *Indexer[T]) addIndex(name string, values IndexFunc[T]) {
	if _, there := x.indexes[name]; there {
		return
	}
	added := &index[T]{values: values, keys: map[string]map[Key]struct{}{}}
	x.indexes[name] = added
	for key, obj := range x.objects {
		added.add(key, obj)
	}
}

// ByIndex is the objects that an index has under a value. An index that was never added is an error of the program.
func (x *Indexer[T]) ByIndex(name, value string) ([]T, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	found, ok := x.indexes[name]
	if !ok {
		return nil, fmt.Errorf("the cache has no index %q: add it with AddIndex", name)
	}
	return x.at(found, value), nil
}

// All yields all objects.
func (x *Indexer[T]) All() iter.Seq[T] { return slices.Values(x.List()) }

// Each yields the objects that an index has under a value. It panics when the index was never added.
func (x *Indexer[T]) Each(index, value string) iter.Seq[T] {
	objects, err := x.ByIndex(index, value)
	if err != nil {
		panic(err)
	}
	return slices.Values(objects)
}

// InNamespace is the objects of a namespace.
func (x *Indexer[T]) InNamespace(namespace string) []T {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.at(x.indexes[byNamespace], namespace)
}

func (x *Indexer[T]) at(i *index[T], value string) []T {
	objects := make([]T, 0, len(i.keys[value]))
	for key := range i.keys[value] {
		objects = append(objects, x.objects[key])
	}
	return objects
}

// put stores an object in the place of an older one.
func (x *Indexer[T]) put(key Key, obj T) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
	x.objects[key] = obj
	for _, i := range x.indexes {
		i.add(key, obj)
	}
}

// remove takes an object out.
func (x *Indexer[T]) remove(key Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
}

func (x *Indexer[T]) drop(key Key) {
	old, there := x.objects[key]
	if !there {
		return
	}
	delete(x.objects, key)
	for _, i := range x.indexes {
		i.remove(key, old)
	}
}

// keys are those of all objects.
func (x *Indexer[T]) keys() []Key {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Keys(x.objects))
}

func (i *index[T]) add(key Key, obj T) {
	for _, value := range i.values(obj) {
		if i.keys[value] == nil {
			i.keys[value] = map[Key]struct{}{}
		}
		i.keys[value][key] = struct{}{}
	}
}

func (i *index[T]) remove(key Key, obj T) {
	for _, value := range i.values(obj) {
		delete(i.keys[value], key)
		if len(i.keys[value]) == 0 {
			delete(i.keys, value)
		}
	}
}
