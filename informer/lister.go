package informer

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
)

// Lister reads a cache. The objects that it returns are shared: copy them before changing them.
type Lister[T client.Object] struct{ indexer *Indexer[T] }

// Get returns an object. If it does not exist, the error is NotFound, as from the server; if it exists but
// cannot be decoded, the error is an *UnreadableError, and its dependents must not be deleted.
func (l Lister[T]) Get(namespace, name string) (T, error) {
	return l.indexer.Find(Key{Namespace: namespace, Name: name})
}

// List returns the objects of a namespace (empty for all) that match a selector (nil for all), in no order.
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
	states, _ := l.indexer.under(byNamespace, namespace)
	return states
}
