package informer

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
)

// Lister reads a cache as one would read the server. What it returns is shared: copy before changing.
type Lister[T client.Object] struct{ indexer *Indexer[T] }

// Get finds one object; the error for one that is not there is what the server would answer, NotFound. One that is there and
// cannot be read is an *UnreadableError: what belongs to it must not be deleted.
func (l Lister[T]) Get(namespace, name string) (T, error) {
	return l.indexer.Find(Key{Namespace: namespace, Name: name})
}

// List is the objects of a namespace (empty for all) that a selector matches, in no order. A nil selector matches all.
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
