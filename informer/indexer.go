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

// Indexer is the cache of an informer: objects by key, and by the values of named indexes. It may be read by many
// goroutines. Objects in it are shared, with the server itself when that is in the same process: copy before changing.
// Lists come in no order.
//
// A lazy informer's objects are decoded as they are read. One that cannot be is in no list, but Find tells it from one that is
// not there.
type Indexer[T client.Object] struct {
	resource schema.GroupResource // for errors
	log      *slog.Logger

	mu      sync.RWMutex
	states  map[Key]*state[T]
	unread  map[Key]*state[T] // traces of what is there and could never be read, of which states has nothing; may be nil
	all     bucket[T]
	indexes []*index[T]
	values  []string // that put works with
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

// Get finds one object that can be read. Who deletes something because an object is gone must ask Find.
func (x *Indexer[T]) Get(key Key) (obj T, ok bool) {
	s := x.state(key)
	if s == nil {
		return obj, false
	}
	obj, err := s.read()
	if err != nil {
		return *new(T), false // and not what of it could be read
	}
	return obj, true
}

// Find finds one object. The error for one that is not there is what the server would answer, NotFound; an object that is
// there and cannot be read is an *UnreadableError.
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

// known is state, or the trace of what cannot be read.
func (x *Indexer[T]) known(key Key) *state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.states[key]; s != nil {
		return s
	}
	return x.unread[key]
}

// state is what is cached under a key, or nil.
func (x *Indexer[T]) state(key Key) *state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.states[key]
}

// Len is how many objects there are.
func (x *Indexer[T]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.states)
}

// List is all objects.
func (x *Indexer[T]) List() []T { return read(x.snapshot()) }

// All yields all objects, as they were when the loop began. It allocates nothing for an object.
func (x *Indexer[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { readEach(x.snapshot(), yield) }
}

// ByIndex is the objects that an index has under a value. An index that was never added is an error of the program.
func (x *Indexer[T]) ByIndex(name, value string) ([]T, error) {
	states, err := x.under(name, value)
	if err != nil {
		return nil, err
	}
	return read(states), nil
}

// Each yields what ByIndex returns, as it was when the loop began. It allocates nothing for an object, and panics when the
// index was never added.
func (x *Indexer[T]) Each(name, value string) iter.Seq[T] {
	return func(yield func(T) bool) {
		states, err := x.under(name, value)
		if err != nil {
			panic(err)
		}
		readEach(states, yield)
	}
}

// Count is how many objects an index has under a value; 0 when the index was never added.
func (x *Indexer[T]) Count(name, value string) int {
	states, _ := x.under(name, value)
	return len(states)
}

// InNamespace is the objects of a namespace.
func (x *Indexer[T]) InNamespace(namespace string) []T {
	objects, _ := x.ByIndex(byNamespace, namespace)
	return objects
}

// snapshot is all states at once.
func (x *Indexer[T]) snapshot() []*state[T] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all.share()
}

// under is the states that an index has under a value.
func (x *Indexer[T]) under(name, value string) ([]*state[T], error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, i := range x.indexes {
		if i.name == name {
			return i.buckets[value].share(), nil
		}
	}
	return nil, fmt.Errorf("the cache has no index %q: add it with AddIndex", name)
}

// read is the objects of states.
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

// put stores a state in the place of an older one. The lock is held.
func (x *Indexer[T]) put(s *state[T]) {
	old := x.states[s.key]
	x.states[s.key] = s
	if old != nil && x.takePlaces(s, old) {
		return
	}
	if old != nil {
		old.leave()
	}
	s.places = make([]place[T], 0, 1+len(x.indexes))
	x.all.add(s)
	for _, i := range x.indexes {
		x.values = i.valuesOf(s, x.values[:0], x.log)
		for _, value := range x.values {
			i.add(s, value)
		}
	}
}

// takePlaces puts a state where its predecessor stood, when the indexes have it under the same values.
func (x *Indexer[T]) takePlaces(s, old *state[T]) bool {
	places := old.places[1:]
	for _, i := range x.indexes {
		x.values = i.valuesOf(s, x.values[:0], x.log)
		for _, value := range x.values {
			if len(places) == 0 || places[0].in.of != i || places[0].in.value != value {
				return false
			}
			places = places[1:]
		}
	}
	if len(places) > 0 {
		return false
	}
	s.places, old.places = old.places, nil
	for _, p := range s.places {
		p.in.own()[p.at] = s
	}
	return true
}

// remove takes an object out. The lock is held.
func (x *Indexer[T]) remove(s *state[T]) {
	delete(x.states, s.key)
	s.leave()
}
