package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// Informers are the informers of one resource in the namespaces of a manager, one for each: a controller that may read only some
// namespaces lists and watches in those alone.
type Informers[T client.Object] []*informer.Informer[T]

// InformersFor are the informers of a resource in the manager's namespaces, or the one of all namespaces when it has none. For
// resources that are in no namespace, use informer.For.
func InformersFor[T client.Object](m *Manager, resource schema.GroupVersionResource) Informers[T] {
	if len(m.options.Namespaces) == 0 {
		return Informers[T]{informer.For[T](m.informers, resource)}
	}
	var in Informers[T]
	for _, namespace := range m.options.Namespaces {
		in = append(in, informer.For[T](m.informers, resource, informer.Scope{Namespace: namespace}))
	}
	return in
}

// For are the sources of the objects, as the function For makes one.
func (in Informers[T]) For(predicates ...Predicate) []Source {
	return in.each(func(i *informer.Informer[T]) Source { return For(i, predicates...) })
}

// Owns are the sources of the objects' owners, as the function Owns makes one.
func (in Informers[T]) Owns(owner schema.GroupKind, predicates ...Predicate) []Source {
	return in.each(func(i *informer.Informer[T]) Source { return Owns(i, owner, predicates...) })
}

// OwnsCluster are the sources of the objects' owners, as the function OwnsCluster makes one.
func (in Informers[T]) OwnsCluster(owner schema.GroupKind, predicates ...Predicate) []Source {
	return in.each(func(i *informer.Informer[T]) Source { return OwnsCluster(i, owner, predicates...) })
}

// Watches are sources as the function Watches makes one.
func (in Informers[T]) Watches(requests func(obj T) []Request, predicates ...Predicate) []Source {
	return in.each(func(i *informer.Informer[T]) Source { return Watches(i, requests, predicates...) })
}

func (in Informers[T]) each(source func(*informer.Informer[T]) Source) []Source {
	all := make([]Source, 0, len(in))
	for _, i := range in {
		all = append(all, source(i))
	}
	return all
}

// Get finds one object in the caches, as a Lister does: the error for one that is not there is what the server would answer.
func (in Informers[T]) Get(namespace, name string) (T, error) {
	obj, err := in[0].Lister().Get(namespace, name)
	for _, i := range in[1:] {
		if !apierrors.IsNotFound(err) { // found, or there and unreadable
			break
		}
		obj, err = i.Lister().Get(namespace, name)
	}
	return obj, err
}

// List is the objects of a namespace (empty for all of the manager's) that a selector matches; nil matches all.
func (in Informers[T]) List(namespace string, selector labels.Selector) []T {
	var all []T
	for _, i := range in {
		all = append(all, i.Lister().List(namespace, selector)...)
	}
	return all
}
