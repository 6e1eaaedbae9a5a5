package informer

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// Key identifies an object of a resource by namespace and name. The namespace of a cluster-scoped object is empty.
type Key = types.NamespacedName

// KeyOf returns the key of an object.
func KeyOf(obj client.Object) Key {
	return Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// compareKeys orders keys by namespace, then by name.
func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Indexer is the cache of an informer: objects by key, and by the values of named indexes. It is safe for
// concurrent use. The objects are shared, also with the server if it runs in the same process: copy them before
// changing them. The slices that it returns belong to the caller. Their order is undefined.
//
// A lazy informer decodes objects when they are read. Lists omit objects that cannot be decoded; Find distinguishes
// undecodable objects from missing ones.
type Indexer[T client.Object] struct {
	resource schema.GroupResource // for errors
	log      *slog.Logger

	mu         sync.RWMutex
	states     map[Key]*state[T]
	unreadable map[Key]*state[T] // traces of objects that could never be decoded, which are not in states; may be nil
	all        bucket[T]
	indexes    []*index[T]
	values     []string // buffer of put
}

// byNamespace is the index that every indexer has.
const byNamespace = "namespace"

func newIndexer[T client.Object](indexes map[string]IndexFunc[T], log *slog.Logger) *Indexer[T] {
	x := &Indexer[T]{states: map[Key]*state[T]{}, log: log}
	x.addIndex(byNamespace, func(s *state[T], values []string) []string { return append(values, s.key.Namespace) })
	for name, values := range indexes {
		x.AddIndex(name, values)
	}
	return x
}

// Get returns an object. ok is false if the object is not cached or cannot be decoded. Before you delete something
// because an object is gone, use Find, which distinguishes the two.
func (x *Indexer[T]) Get(key Key) (obj T, ok bool) {
	s := x.state(key)
	if s == nil {
		return obj, false
	}
	obj, err := s.read()
	if err != nil {
		return *new(T), false // not a partly decoded object
	}
	return obj, true
}

// Find returns an object. If it does not exist, the error is NotFound, as from the server; if it exists but
// cannot be decoded, the error is an *UnreadableError.
func (x *Indexer[T]) Find(key Key) (obj T, err error) {
	s := x.known(key)
	if s == nil {
		return obj, apierrors.NewNotFound(x.resource, key.Name)
	}
	if obj, err = s.read(); err != nil {
		return *new(T), &UnreadableError{Resource: x.resource, Key: key, UID: s.uid(), Revision: s.revision, Err: err}
	}
	return obj, nil
}

// known is like state but includes traces of objects that cannot be decoded.
func (x *Indexer[T]) known(key Key) *state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.states[key]; s != nil {
		return s
	}
	return x.unreadable[key]
}

// state returns the cached state of a key, or nil.
func (x *Indexer[T]) state(key Key) *state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.states[key]
}

// Len returns the number of cached objects. In a lazy informer, that includes objects that cannot be decoded.
func (x *Indexer[T]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.states)
}

// List returns all objects.
func (x *Indexer[T]) List() []T { return read(x.snapshot()) }

// All iterates over all objects as of the start of the loop, without copying the list.
func (x *Indexer[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { readEach(x.snapshot(), yield) }
}

// ByIndex returns the objects that an index lists under a value. It returns an error if the index does not
// exist.
func (x *Indexer[T]) ByIndex(name, value string) ([]T, error) {
	states, err := x.listed(name, value)
	if err != nil {
		return nil, err
	}
	return read(states), nil
}

// Each iterates over the objects that an index lists under a value, as of the start of the loop, without copying the
// list. The loop panics if the index does not exist.
func (x *Indexer[T]) Each(name, value string) iter.Seq[T] {
	return func(yield func(T) bool) {
		states, err := x.listed(name, value)
		if err != nil {
			panic(err)
		}
		readEach(states, yield)
	}
}

// Count returns the number of objects that an index lists under a value, without decoding them, or 0 if the index does
// not exist.
func (x *Indexer[T]) Count(name, value string) int {
	states, _ := x.listed(name, value)
	return len(states)
}

// InNamespace returns the objects of a namespace.
func (x *Indexer[T]) InNamespace(namespace string) []T {
	objects, _ := x.ByIndex(byNamespace, namespace)
	return objects
}

// snapshot returns all states.
func (x *Indexer[T]) snapshot() []*state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all.share()
}

// listed returns the states that an index lists under a value.
func (x *Indexer[T]) listed(name, value string) ([]*state[T], error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, i := range x.indexes {
		if i.name == name {
			return i.buckets[value].share(), nil
		}
	}
	return nil, fmt.Errorf("the cache has no index %q: add it with AddIndex", name)
}

// read returns the objects of states.
func read[T client.Object](states []*state[T]) []T {
	objects := make([]T, 0, len(states))
	for _, s := range states {
		if obj, err := s.read(); err == nil {
			objects = append(objects, obj)
		}
	}
	return objects
}

func readEach[T client.Object](states []*state[T], yield func(T) bool) {
	for _, s := range states {
		if obj, err := s.read(); err == nil && !yield(obj) {
			return
		}
	}
}

// put stores a state, replacing an older one of its key. The caller holds the lock.
func (x *Indexer[T]) put(s *state[T]) {
	old := x.states[s.key]
	x.states[s.key] = s
	if old != nil && x.replaceInPlace(s, old) {
		return
	}
	if old != nil {
		old.leave()
	}
	s.positions = make([]position[T], 0, 1+len(x.indexes))
	x.all.add(s)
	for _, i := range x.indexes {
		x.values = i.valuesOf(s, x.values[:0], x.log)
		for _, value := range x.values {
			i.add(s, value)
		}
	}
}

// replaceInPlace moves a state into the positions of its predecessor if all index values are equal.
func (x *Indexer[T]) replaceInPlace(s, old *state[T]) bool {
	positions := old.positions[1:]
	for _, i := range x.indexes {
		x.values = i.valuesOf(s, x.values[:0], x.log)
		for _, value := range x.values {
			if len(positions) == 0 || positions[0].in.index != i || positions[0].in.value != value {
				return false
			}
			positions = positions[1:]
		}
	}
	if len(positions) > 0 {
		return false
	}
	s.positions, old.positions = old.positions, nil
	for _, p := range s.positions {
		p.in.writable()[p.at] = s
	}
	return true
}

// remove removes a state. The caller holds the lock.
func (x *Indexer[T]) remove(s *state[T]) {
	delete(x.states, s.key)
	s.leave()
}
