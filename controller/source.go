package controller

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// Source produces the requests of a controller. For, Owns, Watches, WatchesLater and Map return sources that read from
// informers; a Trigger is a source for other events. Only this package implements it. A Source belongs to one
// controller.
type Source interface {
	// filled returns a channel that is closed when feed can be called.
	filled() <-chan struct{}
	// feed adds requests with their causes to the inbox until remove is called. synced is closed when the
	// requests for the initial objects are in the inbox.
	feed(in *inbox) (synced <-chan struct{}, remove func())
}

// sources combines several Sources into one, which New expands.
type sources []Source

func (s sources) filled() <-chan struct{} { panic("controller: sources were not expanded") }

func (s sources) feed(*inbox) (<-chan struct{}, func()) {
	panic("controller: sources were not expanded")
}

// expand returns a list in which each sources value is replaced by its elements.
func expand(list []Source) (all []Source) {
	for _, s := range list {
		if elements, ok := s.(sources); ok {
			all = append(all, expand(elements)...)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// For returns a source that requests the reconciliation of an informer's object when a change of it passes all
// predicates. Its first use among the sources of a controller determines the resource that the journal shows.
func For[T client.Object](i *informer.Informer[T], predicates ...Predicate) Source {
	return primary[T]{watched[T]{
		informer: i, requests: func(obj T) []Request {
			return []Request{informer.KeyOf(obj)}
		}, passes: allOf(predicates),
	}}
}

// primary is the source of the objects that the controller reconciles.
type primary[T client.Object] struct{ watched[T] }

// reconciled returns the resource that the controller reconciles.
func (p primary[T]) reconciled() schema.GroupResource { return p.informer.Resource().GroupResource() }

// Owns returns a source that requests the reconciliation of the controller owner of an informer's object when a change
// of the object passes all predicates. The owner must have the given group and kind, in any version, and the namespace
// of the object. Builder.Owns also supports cluster-scoped owners.
func Owns[T client.Object](i *informer.Informer[T], owner schema.GroupKind, predicates ...Predicate) Source {
	return Watches(i, func(obj T) []Request {
		if ref := controllerOf(obj, owner); ref != nil {
			return []Request{{Namespace: obj.GetNamespace(), Name: ref.Name}}
		}
		return nil
	}, predicates...)
}

// ownsCluster is like Owns for cluster-scoped owners.
func ownsCluster[T client.Object](i *informer.Informer[T], owner schema.GroupKind, predicates ...Predicate) Source {
	return Watches(i, func(obj T) []Request {
		if ref := controllerOf(obj, owner); ref != nil {
			return []Request{{Name: ref.Name}}
		}
		return nil
	}, predicates...)
}

// controllerOf returns an object's controller reference, if that has the given group and kind.
func controllerOf(obj client.Object, owner schema.GroupKind) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != owner {
		return nil
	}
	return ref
}

// Watches returns a source that enqueues the requests that a function returns for an informer's object when a change of
// it passes all predicates. For an update, those are the requests for the old and for the new state. The function is
// called from one goroutine at a time, and must not modify the object, which is shared.
func Watches[T client.Object](i *informer.Informer[T], requests func(obj T) []Request, predicates ...Predicate) Source {
	return watched[T]{informer: i, requests: requests, passes: allOf(predicates)}
}

// WatchesLater is like Watches but delays the requests. Use it for objects that the controller itself writes: two
// instances of the controller, one with an outdated cache, could otherwise undo each other's writes in a tight loop.
func WatchesLater[T client.Object](i *informer.Informer[T], delay time.Duration, requests func(obj T) []Request,
	predicates ...Predicate) Source {
	return watched[T]{informer: i, requests: requests, passes: allOf(predicates), delay: delay}
}

// watched is a source that reads from an informer.
type watched[T client.Object] struct {
	informer *informer.Informer[T]
	requests func(T) []Request
	passes   Predicate
	delay    time.Duration
}

func (w watched[T]) filled() <-chan struct{} { return w.informer.Synced() }

func (w watched[T]) feed(in *inbox) (synced <-chan struct{}, remove func()) {
	r := w.informer.AddHandler(&sourceHandler[T]{w, in, w.informer.Resource().GroupResource()})
	return r.Synced(), r.Remove
}

// sourceHandler is the informer handler of a watched source. The cache may be ahead of a handler: the reconciler may
// have acted on a state of which the handler is not notified because it was merged with another, or on an object that
// was created and deleted meanwhile. So merged and vanished states cause requests too.
type sourceHandler[T client.Object] struct {
	watched[T]
	in       *inbox
	resource schema.GroupResource
}

var (
	_ informer.MergeHandler[client.Object]  = &sourceHandler[client.Object]{}
	_ informer.VanishHandler[client.Object] = &sourceHandler[client.Object]{}
)

// OnAdd implements informer.Handler.
func (f *sourceHandler[T]) OnAdd(obj T, initial bool) {
	switch {
	case !f.passes(Change{New: obj}):
	case initial:
		f.add(obj, about(why.Started, f.resource, obj))
	default:
		f.add(obj, additionOf(f.resource, obj))
	}
}

// OnUpdate implements informer.Handler.
func (f *sourceHandler[T]) OnUpdate(old, new T) {
	if f.passes(Change{Old: old, New: new}) {
		f.updated(old, new)
	}
}

// OnMerged implements informer.MergeHandler. A predicate that compares the two states misses a difference that
// appeared, was reverted by the reconciler, and appeared again. So OnMerged also asks whether the predicate
// would pass the deletion of the old state or the addition of the new one.
func (f *sourceHandler[T]) OnMerged(old, new T) {
	if f.passes(Change{Old: old, New: new}) || f.passes(Change{Old: old}) || f.passes(Change{New: new}) {
		f.updated(old, new)
	}
}

func (f *sourceHandler[T]) updated(old, new T) {
	cause := updateOf(f.resource, old, new)
	if cause.Kind == why.Resynced {
		f.add(new, cause)
		return
	}
	requests := f.requests(old)
	defer func() { f.enqueue(requests, cause) }() // also if the function panics for the new state
	requests = union(requests, f.requests(new))
}

// OnDelete implements informer.Handler.
func (f *sourceHandler[T]) OnDelete(obj T, _ bool) {
	if f.passes(Change{Old: obj}) {
		f.add(obj, deletionOf(f.resource, obj))
	}
}

// OnVanish implements informer.VanishHandler.
func (f *sourceHandler[T]) OnVanish(obj T, finalStateUnknown bool) {
	if finalStateUnknown || f.passes(Change{Old: obj}) {
		f.add(obj, deletionOf(f.resource, obj))
	}
}

func (f *sourceHandler[T]) add(obj T, cause why.Cause) { f.enqueue(f.requests(obj), cause) }

func (f *sourceHandler[T]) enqueue(requests []Request, cause why.Cause) {
	for _, request := range requests {
		if f.delay > 0 {
			f.in.addAfter(request, f.delay, cause)
		} else {
			f.in.add(request, cause)
		}
	}
}

// union returns the requests of a, and those of b that are not in a. If an update enqueued a request twice, a worker
// might dequeue it in between and reconcile twice.
func union(a, b []Request) []Request {
	if len(a) <= 1 && len(b) <= 1 { // the common case
		if slices.Equal(a, b) {
			return a
		}
		return append(slices.Clip(a), b...)
	}
	in := make(map[Request]bool, len(a))
	for _, request := range a {
		in[request] = true
	}
	all := slices.Clip(a)
	for _, request := range b {
		if !in[request] {
			all = append(all, request)
		}
	}
	return all
}
