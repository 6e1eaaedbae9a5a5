package informer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Lister reads a cache as one would read the server. What it returns is shared: copy before changing.
type Lister[T client.Object] struct {
	resource schema.GroupResource
	indexer  *Indexer[T]
}

// Get finds one object; the error for one that is not there is what the server would answer.
func (l Lister[T]) Get(namespace, name string) (obj T, err error) {
	s := l.indexer.state(Key{Namespace: namespace, Name: name})
	if s == nil {
		return obj, apierrors.NewNotFound(l.resource, name)
	}
	return s.read()
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
