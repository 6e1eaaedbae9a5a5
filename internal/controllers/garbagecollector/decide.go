package garbagecollector

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// object is the metadata of an object, which is all that the collector needs.
type object = *metav1.PartialObjectMetadata

// state is the state of an owner.
type state int

const (
	// present: the owner exists.
	present state = iota
	// waiting: the owner is being deleted in the foreground and exists until this dependent is gone.
	waiting
	// absent: the owner does not exist.
	absent
	// unresolvable: a cluster-scoped dependent names a namespaced owner; the owner is treated as neither
	// present nor absent.
	unresolvable
	// unserved: the owner's kind is not served; it may be served later.
	unserved
)

// owner is an owner reference and the state of the object that it names.
type owner struct {
	metav1.OwnerReference
	state state
	// elsewhere reports that the object exists in a namespace where it cannot own this dependent.
	elsewhere bool
}

// dependent is an object that refers to an owner.
type dependent struct {
	location
	object
}

// input is the input of a decision.
type input struct {
	location
	object
	owners     []owner
	dependents []dependent // dependents that the decision needs
	inCycle    bool        // the object waits, through some of the dependents, for itself
	// collectedBefore counts how often an object of the same name and owners was collected; now is the current time.
	collectedBefore int
	now             time.Time
}

// decide returns the actions for an object and, if it is being deleted, for its dependents.
func decide(s input) []action.Action {
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

// misplaced returns an event for each owner that exists only in another namespace.
func (s input) misplaced() (actions []action.Action) {
	for _, o := range s.owners {
		if o.elsewhere {
			actions = append(actions, action.Event{
				Object: s.object, Warning: true, Reason: "OwnerRefInvalidNamespace",
				Message: fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in "+
					"namespace %q",
					o.APIVersion, o.Kind, s.Namespace, o.Name, o.UID, s.Namespace),
			})
		}
	}
	return actions
}

// collect deletes the object if none of its owners remains; otherwise it removes the references to owners
// that are gone.
func (s input) collect() []action.Action {
	var gone []types.UID
	var remaining, waitingCount int
	for _, o := range s.owners {
		switch o.state {
		case absent:
			gone = append(gone, o.UID)
		case waiting:
			gone = append(gone, o.UID)
			waitingCount++
		default:
			remaining++
		}
	}
	switch {
	case len(gone) == 0:
		return nil
	case remaining > 0:
		return []action.Action{removeOwners(s.location, s.object, gone)}
	case s.remainingLife() > 0:
		return []action.Action{action.Requeue{After: s.remainingLife()}}
	case waitingCount > 0 && len(s.dependents) > 0:
		if unblock := s.unblock(); unblock != nil {
			return []action.Action{unblock} // the update of the object triggers the next step
		}
		return []action.Action{s.delete(metav1.DeletePropagationForeground)}
	}
	return []action.Action{s.delete(s.policy())}
}

// allOwnersAbsent reports whether all owners of the object are absent.
func (s input) allOwnersAbsent() bool {
	for _, o := range s.owners {
		if o.state != absent {
			return false
		}
	}
	return len(s.owners) > 0
}

// maxRecreatedLife is the longest time that an object with absent owners may live if it is recreated
// repeatedly.
const maxRecreatedLife = time.Minute

// remainingLife returns how much longer the object may live. The first one is deleted at once. Each successor with
// the same name and owners may live twice as long, so that the collector does not enter a conflict loop with
// a client that recreates the object because it has not observed the owner's deletion.
func (s input) remainingLife() time.Duration {
	if s.collectedBefore == 0 {
		return 0
	}
	lifetime := min(time.Second<<min(s.collectedBefore, 10), maxRecreatedLife)
	return s.CreationTimestamp.Add(lifetime).Sub(s.now)
}

// policy returns the propagation policy that the object's finalizers request.
func (s input) policy() metav1.DeletionPropagation {
	switch {
	case slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(s.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// delete deletes the object unless it has changed since it was observed: another owner may have been added.
func (s input) delete(policy metav1.DeletionPropagation) action.Action {
	return action.Delete[object]{Resource: s.in, Object: s.object, IfUnchanged: true, Propagation: policy}
}

// unblock removes blockOwnerDeletion from the object's owner references if the object seems to wait for
// itself through a cycle of owners. It returns nil if no owner is blocked or no dependent waits.
func (s input) unblock() action.Action {
	references := slices.Clone(s.OwnerReferences)
	blocking := false
	for i, r := range references {
		if isBlocking(r) {
			blocking, references[i].BlockOwnerDeletion = true, new(bool)
		}
	}
	if !blocking || !slices.ContainsFunc(s.dependents, func(d dependent) bool { return waitsForDependents(d.object) }) {
		return nil
	}
	return patch(s.location, s.object, "clear blockOwnerDeletion of", map[string]any{"ownerReferences": references})
}

func isBlocking(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// orphan removes the object from the owners of its dependents, and then removes its own finalizer.
func (s input) orphan() (actions []action.Action) {
	var removals action.Parallel
	for _, d := range s.dependents {
		removals = append(removals, removeOwners(d.location, d.object, []types.UID{s.UID}))
	}
	if len(removals) > 0 {
		actions = append(actions, removals)
	}
	return append(actions, s.release(metav1.FinalizerOrphanDependents))
}

// waitInterval is the interval at which an owner that waits for dependents is reconciled. Events for the
// dependents arrive, but may be coalesced.
const waitInterval = time.Minute

// waitForDependents removes the object's finalizer once no blocking dependent is left. Other dependents are
// collected after the object is gone. Blocking dependents are deleted when they are reconciled with their
// owner in the state waiting.
func (s input) waitForDependents() []action.Action {
	if s.inCycle {
		if unblock := s.unblock(); unblock != nil {
			return []action.Action{unblock}
		}
	}
	for _, d := range s.dependents {
		if blocks(d.object, s.UID) {
			return []action.Action{action.Requeue{After: waitInterval}}
		}
	}
	return []action.Action{s.release(metav1.FinalizerDeleteDependents)}
}
