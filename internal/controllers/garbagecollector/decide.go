package garbagecollector

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// object is the metadata of an object: all that there is to know.
type object = *metav1.PartialObjectMetadata

// state is what has become of an owner.
type state int

const (
	// solid is an owner that is there.
	solid state = iota
	// waiting is one that is there until its dependents have gone: it is being deleted in the foreground, and waits for this one.
	waiting
	// absent is one that is not there.
	absent
	// unknowable is one in a namespace of a dependent that is in none: nobody may take it for absent.
	unknowable
	// unserved is one of a kind that is not served: it may be one day.
	unserved
)

// owner is a reference of an object, and what it refers to.
type owner struct {
	metav1.OwnerReference
	state state
	// elsewhere says that there is such an object, but not where its dependent can have owners.
	elsewhere bool
}

// dependent is an object that refers to another one.
type dependent struct {
	place
	object
}

// seen is what a decision is made of.
type seen struct {
	place
	object
	owners     []owner
	dependents []dependent // those that a decision depends on
	circle     bool        // the object waits, by some of those, for itself
	// before is how often one of the object's name that belonged to the same owners was collected, and now is the time.
	before int
	now    time.Time
}

// decide says what is to be done about an object and, if it is being deleted, about those that depend on it.
func decide(s seen) []action.Action {
	actions := s.misplaced()
	if s.DeletionTimestamp == nil {
		return append(actions, s.collect()...)
	}
	switch {
	case slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents):
		return append(actions, s.orphan()...)
	case slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents):
		return append(actions, s.waitForDependents()...)
	}
	return actions
}

// misplaced tells of owners that are not where their dependent is.
func (s seen) misplaced() (actions []action.Action) {
	for _, o := range s.owners {
		if o.elsewhere {
			actions = append(actions, action.Event{
				About: s.object, Warning: true, Reason: "OwnerRefInvalidNamespace",
				Message: fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
					o.APIVersion, o.Kind, s.Namespace, o.Name, o.UID, s.Namespace),
			})
		}
	}
	return actions
}

// collect deletes an object none of whose owners is there, and takes from others the references to those that are not.
func (s seen) collect() []action.Action {
	var gone []types.UID
	var kept, waits int
	for _, o := range s.owners {
		switch o.state {
		case absent:
			gone = append(gone, o.UID)
		case waiting:
			gone = append(gone, o.UID)
			waits++
		default:
			kept++
		}
	}
	switch {
	case len(gone) == 0:
		return nil
	case kept > 0:
		return []action.Action{forget(s.place, s.object, gone)}
	case s.respite() > 0:
		return []action.Action{action.Again{After: s.respite()}}
	case waits > 0 && len(s.dependents) > 0:
		if unblock := s.unblock(); unblock != nil {
			return []action.Action{unblock} // and the rest when it is seen
		}
		return []action.Action{s.delete(metav1.DeletePropagationForeground)}
	}
	return []action.Action{s.delete(s.policy())}
}

// isCollected says whether none of the object's owners is there, or will be.
func (s seen) isCollected() bool {
	for _, o := range s.owners {
		if o.state != absent {
			return false
		}
	}
	return len(s.owners) > 0
}

// longestRespite is how long an object may live whose owners are not there, when it is made again and again.
const longestRespite = time.Minute

// respite is how long an object may live yet: the first goes at once, and each next one of its name and owners is let live
// twice as long, or whoever makes them, because it does not hear that the owner has gone, and the collector would keep each
// other busy.
func (s seen) respite() time.Duration {
	if s.before == 0 {
		return 0
	}
	life := min(time.Second<<min(s.before, 10), longestRespite)
	return s.CreationTimestamp.Add(life).Sub(s.now)
}

// policy is how the object itself asks to be deleted.
func (s seen) policy() metav1.DeletionPropagation {
	switch {
	case slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// delete deletes the object if it still is as it was seen: another owner may have been added.
func (s seen) delete(policy metav1.DeletionPropagation) action.Action {
	return action.Delete[object]{In: s.in, Object: s.object, Unchanged: true, Propagation: policy}
}

// unblock has the owners of an object wait for it no longer when it seems to wait for itself, by a circle of owners. It is nil
// where that is not so, or none waits.
func (s seen) unblock() action.Action {
	references := slices.Clone(s.OwnerReferences)
	blocking := false
	for i, r := range references {
		if isBlocking(r) {
			blocking, references[i].BlockOwnerDeletion = true, new(bool)
		}
	}
	if !blocking || !slices.ContainsFunc(s.dependents, func(d dependent) bool { return waits(d.object) }) {
		return nil
	}
	return patch(s.place, s.object, "unblock the owners of", map[string]any{"ownerReferences": references})
}

func isBlocking(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// orphan lets the dependents of an object live on without it, and then lets it go.
func (s seen) orphan() (actions []action.Action) {
	var each action.Together
	for _, d := range s.dependents {
		each = append(each, forget(d.place, d.object, []types.UID{s.UID}))
	}
	if len(each) > 0 {
		actions = append(actions, each)
	}
	return append(actions, s.release(metav1.FinalizerOrphanDependents))
}

// longestWait is when to look again at who waits for dependents, of which every change is seen, but not each of several at once.
const longestWait = time.Minute

// waitForDependents lets an object go when nothing is left that it must wait for. What else depends on it is collected when it
// has gone; what it waits for sees that it is waited for, and goes.
func (s seen) waitForDependents() []action.Action {
	if s.circle {
		if unblock := s.unblock(); unblock != nil {
			return []action.Action{unblock}
		}
	}
	for _, d := range s.dependents {
		if blocks(d.object, s.UID) {
			return []action.Action{action.Again{After: longestWait}}
		}
	}
	return []action.Action{s.release(metav1.FinalizerDeleteDependents)}
}
