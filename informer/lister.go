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
func (l Lister[T]) Get(namespace, name string) (T, error) {
	obj, ok := l.indexer.Get(Key{Namespace: namespace, Name: name})
	if !ok {
		return obj, apierrors.NewNotFound(l.resource, name)
	}
	return obj, nil
}

// List is the objects of a namespace (empty for all) that a selector matches, in no order. A nil selector matches all.
func (l Lister[T]) List(namespace string, selector labels.Selector) []T {
	objects := l.all(namespace)
	if selector == nil || selector.Empty() {
		return objects
	}
	matching := objects[:0]
	for _, obj := range objects {
		if selector.Matches(labels.Set(obj.GetLabels())) {
			matching = append(matching, obj)
		}
	}
	return matching
}

func (l Lister[T]) all(namespace string) []T {
	if namespace == "" {
		return l.indexer.List()
	}
	return l.indexer.InNamespace(namespace)
}
