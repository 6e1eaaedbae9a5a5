package controller

import (
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// Objects is a handle to the objects of one resource as T. Get and List read the manager's caches; Client returns a
// client that reads from and writes to the server. Builder.For, Builder.Owns and Map take handles. It is safe for
// concurrent use.
type Objects[T client.Object] struct {
	client        client.Resource[T]
	resource      schema.GroupVersionResource
	clusterScoped bool
	// informers has one informer for each of the manager's namespaces, or one for all.
	informers []*informer.Informer[T]
}

// ObjectsOf returns a handle to the objects of a namespaced resource, and lets the manager cache them. If the manager
// has Namespaces, the cache and the handle have only their objects, so that a controller needs permissions in these
// namespaces only. ObjectsOf must be called before Manager.Run.
func ObjectsOf[T client.Object](m *Manager, resource schema.GroupVersionResource) *Objects[T] {
	o := &Objects[T]{client: client.Of[T](m.client, resource), resource: resource}
	if len(m.options.Namespaces) == 0 {
		o.informers = []*informer.Informer[T]{informer.For[T](m.informers, resource)}
	}
	for _, namespace := range m.options.Namespaces {
		o.informers = append(o.informers, informer.For[T](m.informers, resource, informer.Scope{Namespace: namespace}))
	}
	return o
}

// ClusterObjectsOf is like ObjectsOf for a cluster-scoped resource.
func ClusterObjectsOf[T client.Object](m *Manager, resource schema.GroupVersionResource) *Objects[T] {
	return &Objects[T]{
		client: client.Of[T](m.client, resource), resource: resource, clusterScoped: true,
		informers: []*informer.Informer[T]{informer.For[T](m.informers, resource)},
	}
}

// Client returns a client of the resource, which does not use the caches.
func (o *Objects[T]) Client() client.Resource[T] { return o.client }

// Informers returns the informers that fill the caches: one for each of the manager's namespaces, or one for all.
func (o *Objects[T]) Informers() []*informer.Informer[T] { return o.informers }

// Get returns an object from the caches. If it is not cached, the error is NotFound, as from the server; if it exists
// but cannot be decoded, the error is an *informer.UnreadableError. The object is shared: copy it before changing it.
func (o *Objects[T]) Get(namespace, name string) (T, error) {
	obj, err := o.informers[0].Lister().Get(namespace, name)
	for _, i := range o.informers[1:] {
		if !apierrors.IsNotFound(err) { // found, or present but not decodable
			break
		}
		obj, err = i.Lister().Get(namespace, name)
	}
	return obj, err
}

// List returns the cached objects of a namespace (empty for all) that match a selector (nil for all), in no order. The
// objects are shared: copy them before changing them.
func (o *Objects[T]) List(namespace string, selector labels.Selector) []T {
	all := o.informers[0].Lister().List(namespace, selector)
	for _, i := range o.informers[1:] {
		all = append(all, i.Lister().List(namespace, selector)...)
	}
	return all
}

// primary implements Watchable.
func (o *Objects[T]) primary(predicates []Predicate) (sources []Source) {
	for _, i := range o.informers {
		sources = append(sources, For(i, predicates...))
	}
	return sources
}

// owned implements Watchable.
func (o *Objects[T]) owned(owner schema.GroupKind, clusterScoped bool, predicates []Predicate) (sources []Source) {
	for _, i := range o.informers {
		if clusterScoped {
			sources = append(sources, ownsCluster(i, owner, predicates...))
		} else {
			sources = append(sources, Owns(i, owner, predicates...))
		}
	}
	return sources
}

// owner implements Watchable. The kind is the name of the Go type, and unknown if T is unstructured or metadata only.
func (o *Objects[T]) owner() (kind schema.GroupKind, clusterScoped bool) {
	kind.Group = o.resource.Group
	if t := reflect.TypeFor[T]().Elem(); !strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/") {
		kind.Kind = t.Name()
	}
	return kind, o.clusterScoped
}

// Map returns a source for Builder.Watches. When an object of the handle changes and the change passes all predicates,
// the source enqueues the requests that the function returns for it; for an update, those of the old and of the new
// state. The function must not modify the object, which is shared. If the manager has several Namespaces, the function
// and the predicates may be called concurrently.
func Map[T client.Object](of *Objects[T], requests func(obj T) []Request, predicates ...Predicate) Source {
	var all sources
	for _, i := range of.informers {
		all = append(all, Watches(i, requests, predicates...))
	}
	return all
}
