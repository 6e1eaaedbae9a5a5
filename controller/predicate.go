package controller

import (
	"maps"

	"github.com/bowline-dev/bowline/client"
)

// Change is a change of an object: Old is nil if it was added, New if it was deleted. In a resync both are
// the same object. The objects are shared and must not be changed.
type Change struct {
	Old, New client.Object // shared; must not be modified
}

// Predicate reports whether a change concerns a controller. Predicates save work but guarantee nothing: a
// request may have other causes too, and the reconciler must decide from the current state. They also apply
// to the objects that exist when the controller starts, as additions. If several updates were merged into
// one, it also passes if the deletion of the old state or the addition of the new one would pass, since a
// reconciler may have acted on a state between them. Each source calls its predicates from one goroutine at a
// time.
type Predicate func(Change) bool

// updated returns a predicate on updates; additions and deletions always pass.
func updated(differs func(old, new client.Object) bool) Predicate {
	return func(c Change) bool { return c.Old == nil || c.New == nil || differs(c.Old, c.New) }
}

// GenerationChanged passes updates that change the generation: the server increments it when the spec changes
// or deletion is requested, but not for changes of status or metadata. It rejects resyncs; use
// Or(GenerationChanged, Resynced) to pass them.
func GenerationChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return old.GetGeneration() != new.GetGeneration() })(c)
}

// ResourceVersionChanged passes additions, deletions, and updates that change the object: all but resyncs.
func ResourceVersionChanged(c Change) bool { return !Resynced(c) }

// Resynced passes only resyncs: updates that change nothing.
func Resynced(c Change) bool {
	return c.Old != nil && c.New != nil && c.Old.GetResourceVersion() == c.New.GetResourceVersion()
}

// LabelsChanged passes updates that change labels.
func LabelsChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return !maps.Equal(old.GetLabels(), new.GetLabels()) })(c)
}

// If returns a predicate on the typed states of an object. A state that does not exist is nil.
func If[T client.Object](f func(old, new T) bool) Predicate {
	return func(c Change) bool {
		old, _ := c.Old.(T)
		new, _ := c.New.(T)
		return f(old, new)
	}
}

// allOf passes what all predicates pass.
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

// Or passes what at least one of the predicates passes.
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
