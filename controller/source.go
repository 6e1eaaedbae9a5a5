package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/informer"
)

// Source is where the requests of a controller come from. For, Owns and Watches make them of informers; a Trigger takes
// those that no informer tells of.
type Source interface {
	// filled is closed when there is something to feed from.
	filled() <-chan struct{}
	// feed puts every request into the inbox, with its cause, until remove is called; the channel is closed when those for all
	// that there is at first are in it.
	feed(in *inbox) (synced <-chan struct{}, remove func())
}

// For reconciles the objects of an informer, when a change passes all predicates.
func For[T client.Object](i *informer.Informer[T], predicates ...Predicate) Source {
	return primary[T]{watched[T]{i, func(obj T) []Request { return []Request{informer.KeyOf(obj)} }, And(predicates...)}}
}

// primary feeds the objects themselves.
type primary[T client.Object] struct{ watched[T] }

// reconciled is what the controller is for.
func (p primary[T]) reconciled() schema.GroupResource { return p.informer.Resource().GroupResource() }

// Owns reconciles the owners of an informer's objects: those that an object's controller reference names, of this group
// and kind, in any version. An owner is in the namespace of what it owns; use OwnsCluster for owners that are in none.
func Owns[T client.Object](i *informer.Informer[T], owner schema.GroupKind, predicates ...Predicate) Source {
	return Watches(i, func(obj T) []Request {
		if ref := controllerOf(obj, owner); ref != nil {
			return []Request{{Namespace: obj.GetNamespace(), Name: ref.Name}}
		}
		return nil
	}, predicates...)
}

// OwnsCluster is Owns for owners of a kind that is in no namespace, whatever namespace their objects are in.
func OwnsCluster[T client.Object](i *informer.Informer[T], owner schema.GroupKind, predicates ...Predicate) Source {
	return Watches(i, func(obj T) []Request {
		if ref := controllerOf(obj, owner); ref != nil {
			return []Request{{Name: ref.Name}}
		}
		return nil
	}, predicates...)
}

// controllerOf is an object's controller reference, if it is to an object of that group and kind.
func controllerOf(obj client.Object, owner schema.GroupKind) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != owner {
		return nil
	}
	return ref
}

// Watches reconciles whatever requests says of an informer's objects. It is asked about both states of one that
// changes.
func Watches[T client.Object](i *informer.Informer[T], requests func(obj T) []Request, predicates ...Predicate) Source {
	return watched[T]{i, requests, And(predicates...)}
}

// watched feeds from an informer: it is a handler that asks whom an object concerns.
type watched[T client.Object] struct {
	informer *informer.Informer[T]
	requests func(T) []Request
	passes   Predicate
}

func (w watched[T]) filled() <-chan struct{} { return w.informer.Synced() }

func (w watched[T]) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	resource := w.informer.Resource().GroupResource()
	r := w.informer.AddHandler(informer.HandlerFuncs[T]{
		Add: func(obj T, initial bool) {
			switch {
			case !w.passes(Change{New: obj}):
			case initial:
				w.add(in, obj, about(why.Started, resource, obj))
			default:
				w.add(in, obj, additionOf(resource, obj))
			}
		},
		Update: func(old, new T) {
			if !w.passes(Change{Old: old, New: new}) {
				return
			}
			cause := updateOf(resource, old, new)
			if cause.Kind != why.Resynced {
				w.add(in, old, cause)
			}
			w.add(in, new, cause)
		},
		Delete: func(obj T, _ bool) {
			if w.passes(Change{Old: obj}) {
				w.add(in, obj, deletionOf(resource, obj))
			}
		},
	})
	return r.Synced(), r.Remove
}

func (w watched[T]) add(in *inbox, obj T, cause why.Cause) {
	for _, request := range w.requests(obj) {
		in.add(request, cause)
	}
}
