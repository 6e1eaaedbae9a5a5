package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
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
	return primary[T]{watched[T]{
		informer: i, requests: func(obj T) []Request { return []Request{informer.KeyOf(obj)} }, passes: And(predicates...),
	}}
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
	return watched[T]{informer: i, requests: requests, passes: And(predicates...)}
}

// WatchesLater is Watches, but what it asks for is reconciled only after the delay, unless something else asks for it before. It is for
// objects that the controller writes itself: two instances, of which one sees the state of a while ago, would undo each other's writes
// as fast as they can.
func WatchesLater[T client.Object](i *informer.Informer[T], delay time.Duration, requests func(obj T) []Request, predicates ...Predicate) Source {
	return watched[T]{informer: i, requests: requests, passes: And(predicates...), delay: delay}
}

// watched feeds from an informer, by asking whom an object concerns.
type watched[T client.Object] struct {
	informer *informer.Informer[T]
	requests func(T) []Request
	passes   Predicate
	delay    time.Duration
}

func (w watched[T]) filled() <-chan struct{} { return w.informer.Synced() }

func (w watched[T]) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	r := w.informer.AddHandler(&feeding[T]{w, in, w.informer.Resource().GroupResource()})
	return r.Synced(), r.Remove
}

// feeding puts into the inbox whom a change concerns. A reconciler reads the cache, which is ahead of handlers: it may have acted
// on a state that is left out here, or on an object that has come and gone. So what is left out makes requests too.
type feeding[T client.Object] struct {
	watched[T]
	in       *inbox
	resource schema.GroupResource
}

var (
	_ informer.Merging[client.Object]  = &feeding[client.Object]{}
	_ informer.Thorough[client.Object] = &feeding[client.Object]{}
)

// OnAdd implements informer.Handler.
func (f *feeding[T]) OnAdd(obj T, initial bool) {
	switch {
	case !f.passes(Change{New: obj}):
	case initial:
		f.add(obj, about(why.Started, f.resource, obj))
	default:
		f.add(obj, additionOf(f.resource, obj))
	}
}

// OnUpdate implements informer.Handler.
func (f *feeding[T]) OnUpdate(old, new T) {
	if f.passes(Change{Old: old, New: new}) {
		f.updated(old, new)
	}
}

// OnMerged implements informer.Merging. A predicate that compares the two states sees no difference where one was made, mended by
// the reconciler, and made again. So it is asked as well whether the objects concern the controller, whatever the difference.
func (f *feeding[T]) OnMerged(old, new T) {
	if f.passes(Change{Old: old, New: new}) || f.passes(Change{Old: old}) || f.passes(Change{New: new}) {
		f.updated(old, new)
	}
}

func (f *feeding[T]) updated(old, new T) {
	cause := updateOf(f.resource, old, new)
	if cause.Kind != why.Resynced {
		f.add(old, cause)
	}
	f.add(new, cause)
}

// OnDelete implements informer.Handler.
func (f *feeding[T]) OnDelete(obj T, _ bool) {
	if f.passes(Change{Old: obj}) {
		f.add(obj, deletionOf(f.resource, obj))
	}
}

// OnVanish implements informer.Thorough.
func (f *feeding[T]) OnVanish(obj T, finalStateUnknown bool) {
	if finalStateUnknown || f.passes(Change{Old: obj}) {
		f.add(obj, deletionOf(f.resource, obj))
	}
}

func (f *feeding[T]) add(obj T, cause why.Cause) {
	for _, request := range f.requests(obj) {
		if f.delay > 0 {
			f.in.addAfter(request, f.delay, cause)
		} else {
			f.in.add(request, cause)
		}
	}
}
