package clientgo

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// store implements cache.Indexer, which client-go's listers read, on the cache of an informer. It is read-only.
type store[T client.Object] struct {
	resource schema.GroupVersionResource
	cached   *informer.Indexer[T]
	revision func() string

	mu        sync.RWMutex
	indexes   map[string]index
	functions cache.Indexers // of the indexes; replaced, not changed
}

// index is one of client-go's indexes.
type index struct {
	values cache.IndexFunc
	// name is the index's name in the shared cache, where another user may have taken the caller's name.
	name string
}

// ourNamespaces is the name of the index by namespace in each of our caches.
const ourNamespaces = "namespace"

var _ cache.Indexer = &store[client.Object]{}

func newStore[T client.Object](resource schema.GroupVersionResource, cached *informer.Indexer[T],
	revision func() string) *store[T] {
	return &store[T]{
		resource: resource, cached: cached, revision: revision, indexes: map[string]index{},
		functions: cache.Indexers{},
	}
}

// List returns all objects.
func (s *store[T]) List() []any {
	objects := make([]any, 0, s.cached.Len())
	for obj := range s.cached.All() {
		objects = append(objects, obj)
	}
	return objects
}

// ListKeys returns the keys of all objects.
func (s *store[T]) ListKeys() []string {
	keys := make([]string, 0, s.cached.Len())
	for obj := range s.cached.All() {
		keys = append(keys, keyOf(obj))
	}
	return keys
}

// Get returns the object with the same key as obj, which may be a tombstone.
func (s *store[T]) Get(obj any) (item any, exists bool, err error) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, cache.KeyError{Obj: obj, Err: err}
	}
	return s.GetByKey(key)
}

// GetByKey returns an object by namespace/name, or by name if it has no namespace. If the object exists but cannot be
// decoded, the error is an informer.UnreadableError.
func (s *store[T]) GetByKey(key string) (item any, exists bool, err error) {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		namespace, name = "", key
	}
	obj, err := s.cached.Find(informer.Key{Namespace: namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return obj, true, nil
}

// LastStoreSyncResourceVersion returns the revision up to which the informer has received all events.
func (s *store[T]) LastStoreSyncResourceVersion() string { return s.revision() }

// Bookmark does nothing: the informer records its own position.
func (s *store[T]) Bookmark(string) {}

// Resync does nothing, as it does in client-go's caches: informers resync.
func (s *store[T]) Resync() error { return nil }

// Add returns an error.
func (s *store[T]) Add(obj any) error { return s.readOnly("Add", obj) }

// Update returns an error.
func (s *store[T]) Update(obj any) error { return s.readOnly("Update", obj) }

// Delete returns an error.
func (s *store[T]) Delete(obj any) error { return s.readOnly("Delete", obj) }

// Replace returns an error.
func (s *store[T]) Replace([]any, string) error { return s.readOnly("Replace", nil) }

// readOnly returns the error of a write to the store. All users of the informer share its objects, in process with the
// server.
func (s *store[T]) readOnly(call string, obj any) error {
	about := "all objects"
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); obj != nil && err == nil {
		about = key
	}
	return fmt.Errorf("%s of %s: the cache of %s is read-only: send the change to the server",
		call, about, s.resource.GroupResource())
}

// AddIndexers adds indexes. If an index with one of the names exists, AddIndexers returns an error and adds
// no index.
func (s *store[T]) AddIndexers(added cache.Indexers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var conflicts []string
	for name := range added {
		if _, found := s.indexes[name]; found {
			conflicts = append(conflicts, name)
		}
	}
	if len(conflicts) > 0 {
		slices.Sort(conflicts)
		return fmt.Errorf("indexer conflict: the cache of %s has %v already", s.resource.GroupResource(), conflicts)
	}
	for name, values := range added {
		i := index{values: values, name: fmt.Sprintf("%p %s", s, name)}
		if byNamespace(name, values) {
			i.name = ourNamespaces
		} else {
			s.cached.AddIndex(i.name, indexFunc[T](name, values))
		}
		s.indexes[name] = i
	}
	s.functions = maps.Clone(s.functions)
	maps.Copy(s.functions, added)
	return nil
}

// byNamespace reports whether an index is client-go's index by namespace.
func byNamespace(name string, values cache.IndexFunc) bool {
	return name == cache.NamespaceIndex &&
		reflect.ValueOf(values).Pointer() == reflect.ValueOf(cache.MetaNamespaceIndexFunc).Pointer()
}

// indexFunc converts an index function of client-go. If it fails, the error is logged as a panic, and the index does
// not contain the object.
func indexFunc[T client.Object](name string, values cache.IndexFunc) informer.IndexFunc[T] {
	return func(obj T) []string {
		found, err := values(obj)
		if err != nil {
			panic(fmt.Errorf("the index %q fails for %s: %w", name, keyOf(obj), err))
		}
		return found
	}
}

// GetIndexers returns the functions of all indexes. The map is shared and never changes, because controller-runtime
// reads it in each list by fields.
func (s *store[T]) GetIndexers() cache.Indexers {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.functions
}

// Index returns the objects that share a value of an index with obj.
func (s *store[T]) Index(name string, obj any) ([]any, error) {
	i, err := s.index(name)
	if err != nil {
		return nil, err
	}
	wanted, err := i.values(obj)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 1 {
		return s.ByIndex(name, wanted[0])
	}
	found := []any{}
	seen := map[string]bool{}
	for _, value := range wanted {
		err := s.each(name, value, func(obj T) {
			if key := keyOf(obj); !seen[key] {
				seen[key] = true
				found = append(found, obj)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ByIndex returns the objects with a value of an index.
func (s *store[T]) ByIndex(name, value string) ([]any, error) {
	i, err := s.index(name)
	if err != nil {
		return nil, err
	}
	found := make([]any, 0, s.cached.Count(i.name, value))
	for obj := range s.cached.Each(i.name, value) {
		found = append(found, obj)
	}
	return found, nil
}

// IndexKeys returns the sorted keys of the objects with a value of an index.
func (s *store[T]) IndexKeys(name, value string) ([]string, error) {
	var keys []string
	err := s.each(name, value, func(obj T) { keys = append(keys, keyOf(obj)) })
	slices.Sort(keys)
	return keys, err
}

// ListIndexFuncValues returns all values of an index. It calls the index function for every object.
func (s *store[T]) ListIndexFuncValues(name string) []string {
	i, err := s.index(name)
	if err != nil {
		return []string{}
	}
	distinct := map[string]struct{}{}
	for obj := range s.cached.All() {
		found, _ := i.values(obj) // it did not fail when obj was cached
		for _, value := range found {
			distinct[value] = struct{}{}
		}
	}
	return slices.AppendSeq(make([]string, 0, len(distinct)), maps.Keys(distinct))
}

// each calls f with each object that has a value of an index.
func (s *store[T]) each(name, value string, f func(T)) error {
	i, err := s.index(name)
	if err != nil {
		return err
	}
	for obj := range s.cached.Each(i.name, value) {
		f(obj)
	}
	return nil
}

func (s *store[T]) index(name string) (index, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := s.indexes[name]
	switch {
	case !ok && name == cache.NamespaceIndex:
		return index{cache.MetaNamespaceIndexFunc, ourNamespaces}, nil
	case !ok:
		return index{}, fmt.Errorf("Index with name %s does not exist in the cache of %s: add it with AddIndexers",
			name, s.resource.GroupResource())
	}
	return i, nil
}

// keyOf returns the key of an object in client-go's form.
func keyOf(obj client.Object) string {
	return cache.ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}.String()
}
