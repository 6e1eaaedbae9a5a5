package informer

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
)

// Lister reads the cache of an informer by namespace and label selector. It is safe for concurrent use. The objects
// that it returns are shared: copy them before changing them.
type Lister[T client.Object] struct{ indexer *Indexer[T] }

// Get returns an object. If it is not cached, the error is NotFound, as from the server; if it exists but cannot be
// decoded, the error is an *UnreadableError, and the caller must not delete its dependents.
func (l Lister[T]) Get(namespace, name string) (T, error) {
	return l.indexer.Find(Key{Namespace: namespace, Name: name})
}

// List returns the objects of a namespace (empty for all) that match a selector (nil for all), in no order. It omits
// objects that cannot be decoded. The caller owns the slice.
func (l Lister[T]) List(namespace string, selector labels.Selector) []T {
	states := l.states(namespace)
	if selector == nil || selector.Empty() {
		return read(states)
	}
	var matching []T
	for _, s := range states {
		if !selector.Matches(labels.Set(s.labels())) {
			continue
		}
		if obj, err := s.read(); err == nil {
			matching = append(matching, obj)
		}
	}
	return matching
}

func (l Lister[T]) states(namespace string) []*state[T] {
	if namespace == "" {
		return l.indexer.snapshot()
	}
	states, _ := l.indexer.listed(byNamespace, namespace)
	return states
}
