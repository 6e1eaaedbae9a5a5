package controller

import (
	"maps"

	"github.com/bowline-dev/bowline/client"
)

// Change is what happened to an object: Old is nil when it was added, New when it was deleted. A resync has twice the same
// object. Objects are shared and must not be changed.
type Change struct {
	Old, New client.Object
}

// Predicate says whether a change concerns a controller. Predicates are an economy, not a guarantee: a request may come for
// other reasons too, and what to do follows from what is read then. They hold for objects that were there before the
// controller as for those that are added. An update that may stand for several passes also where the deletion of its old state
// or the addition of its new one would, since states between them may have been acted on. Each is asked by one goroutine at a
// time for each source.
type Predicate func(Change) bool

// updated is a predicate on both states of an object that changed; what is added or deleted always passes.
func updated(differs func(old, new client.Object) bool) Predicate {
	return func(c Change) bool { return c.Old == nil || c.New == nil || differs(c.Old, c.New) }
}

// GenerationChanged passes updates of what is declared, not those of a status, of labels or of other metadata: the server
// counts an object's generation up when its spec changes, and when its deletion is asked for. It also holds back resyncs: to
// have those, use Or(GenerationChanged, Resynced).
func GenerationChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return old.GetGeneration() != new.GetGeneration() })(c)
}

// ResourceVersionChanged passes all updates but resyncs.
func ResourceVersionChanged(c Change) bool { return !Resynced(c) }

// Resynced passes only resyncs: updates that change nothing.
func Resynced(c Change) bool {
	return c.Old != nil && c.New != nil && c.Old.GetResourceVersion() == c.New.GetResourceVersion()
}

// LabelsChanged passes updates of labels.
func LabelsChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return !maps.Equal(old.GetLabels(), new.GetLabels()) })(c)
}

// AnnotationsChanged passes updates of annotations.
func AnnotationsChanged(c Change) bool {
	return updated(func(old, new client.Object) bool { return !maps.Equal(old.GetAnnotations(), new.GetAnnotations()) })(c)
}

// AnnotationChanged passes updates of the annotation with that key.
func AnnotationChanged(key string) Predicate {
	return updated(func(old, new client.Object) bool {
		before, had := old.GetAnnotations()[key]
		after, has := new.GetAnnotations()[key]
		return had != has || before != after
	})
}

// If is a predicate on the typed states of an object; the one that there is none of is nil.
func If[T client.Object](f func(old, new T) bool) Predicate {
	return func(c Change) bool {
		old, _ := c.Old.(T)
		new, _ := c.New.(T)
		return f(old, new)
	}
}

// And passes what all predicates pass.
func And(predicates ...Predicate) Predicate {
	return func(c Change) bool {
		for _, p := range predicates {
			if !p(c) {
				return false
			}
		}
		return true
	}
}

// Or passes what one of the predicates passes.
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

// Not passes what the predicate holds back.
func Not(p Predicate) Predicate { return func(c Change) bool { return !p(c) } }
