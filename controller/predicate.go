package controller

import (
	"maps"

	"github.com/bowline-dev/bowline/client"
)

// Change is a change of an object. Old is nil if the object was added, New is nil if it was deleted. In a resync, both
// are the same object.
type Change struct {
	Old, New client.Object // shared; must not be modified
}

// Predicate reports whether a change concerns a controller; a change that does passes. Predicates only save work: a
// request may have other causes too, so the reconciler must decide from the current state. The objects that exist when
// the controller starts are additions. If several updates were merged into one, it also passes if the deletion of the
// old state or the addition of the new one would pass, since a reconciler may have acted on a state between them. A
// Source of one informer calls its predicates from one goroutine at a time; a Builder or Map of a manager with several
// Namespaces may call them concurrently.
type Predicate func(Change) bool

// updated returns a predicate that passes updates whose states differ, and all additions and deletions.
func updated(differs func(old, new client.Object) bool) Predicate {
	return func(c Change) bool { return c.Old == nil || c.New == nil || differs(c.Old, c.New) }
}

// GenerationChanged is a Predicate that passes additions, deletions, and updates that change the generation. The server
// increments the generation when the spec changes or deletion is requested, but not when the status or other metadata
// change. It rejects resyncs; use Or(GenerationChanged, Resynced) to pass them.
func GenerationChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return old.GetGeneration() != new.GetGeneration() })(c)
}

// ResourceVersionChanged is a Predicate that passes all changes but resyncs.
func ResourceVersionChanged(c Change) bool { return !Resynced(c) }

// Resynced is a Predicate that passes only resyncs: updates that change nothing.
func Resynced(c Change) bool {
	return c.Old != nil && c.New != nil && c.Old.GetResourceVersion() == c.New.GetResourceVersion()
}

// LabelsChanged is a Predicate that passes additions, deletions, and updates that change labels.
func LabelsChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return !maps.Equal(old.GetLabels(), new.GetLabels()) })(c)
}

// If returns a Predicate that calls f with the states of the object as T. old is nil for an addition, new for a
// deletion.
func If[T client.Object](f func(old, new T) bool) Predicate {
	return func(c Change) bool {
		old, _ := c.Old.(T)
		new, _ := c.New.(T)
		return f(old, new)
	}
}

// allOf returns a Predicate that passes changes that all predicates pass.
func allOf(predicates []Predicate) Predicate {
	return func(c Change) bool {
		for _, p := range predicates {
			if !p(c) {
				return false
			}
		}
		return true
	}
}

// Or returns a Predicate that passes changes that at least one of the predicates passes.
func Or(predicates ...Predicate) Predicate {
	return func(c Change) bool {
		for _, p := range predicates {
			if p(c) {
				return true
			}
		}
		return false
	}
}
