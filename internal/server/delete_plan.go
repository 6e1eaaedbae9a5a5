package server

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// deletePlan is the effect of a delete on an object.
type deletePlan struct {
	// unchanged: the object is already being deleted, and the delete changes nothing.
	unchanged bool
	// keep: something holds the object, so it is marked as deleted and still exists.
	keep bool
	// graceful: the kind has a grace period, so the answer shows the object.
	graceful bool
}

// planDelete returns the effect of a delete, and marks obj as deleted. orphans is the propagation policy when
// the options name none.
func planDelete(k kind.Kind, obj kind.Object, o *metav1.DeleteOptions, orphans bool) deletePlan {
	grace, graceful := gracePeriod(k, obj, o)
	if graceful && pending(obj) {
		asked, left := o.GracePeriodSeconds, *obj.GetDeletionGracePeriodSeconds()
		if asked == nil || *asked >= left { // the time only gets shorter, and nothing else changes meanwhile
			return deletePlan{unchanged: true, graceful: true}
		}
		if grace = *asked; grace < 0 {
			grace = 1
		}
	}
	deleting := obj.GetDeletionTimestamp() != nil
	finalizersChanged := setPolicyFinalizer(obj, o, orphans)
	kept := keptByKind(k, obj)
	if deleting && !pending(obj) && !finalizersChanged {
		return deletePlan{unchanged: held(k, obj), graceful: graceful}
	}
	plan := deletePlan{graceful: graceful, keep: kept || len(obj.GetFinalizers()) > 0 || graceful && grace > 0}
	if plan.keep || graceful {
		markDeleted(obj, grace, kept)
	}
	return plan
}

// pending reports whether a deleted object has time left.
func pending(obj kind.Object) bool {
	left := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && left != nil && *left > 0
}

// gracePeriod returns the object's grace period in seconds.
func gracePeriod(k kind.Kind, obj kind.Object, o *metav1.DeleteOptions) (int64, bool) {
	if !k.Info().Graceful {
		return 0, false
	}
	return max(k.GracePeriod(obj, o.GracePeriodSeconds), 0), true
}

// markDeleted sets the deletion time. That of an object which is already being deleted only gets earlier.
// Kinds that hold their objects themselves (namespaces) have no grace period.
func markDeleted(obj kind.Object, grace int64, byKind bool) {
	at := now()
	was, left := obj.GetDeletionTimestamp(), obj.GetDeletionGracePeriodSeconds()
	switch {
	case was == nil:
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		at = metav1.NewTime(at.Add(time.Duration(grace) * time.Second))
	case pending(obj):
		sooner := metav1.NewTime(was.Add(time.Duration(grace-*left) * time.Second))
		if sooner.Before(&at) { // the time has passed, but the agent that ends the object must still see the change
			grace = min(grace, 1)
		} else {
			at = sooner
		}
	case was.Before(&at):
		at = *was
	}
	obj.SetDeletionTimestamp(&at)
	if !byKind {
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
}

// setPolicyFinalizer sets the finalizer of the propagation policy: Foreground and Orphan hold the object
// until the garbage collector has processed its dependents. An existing policy takes precedence over the
// endpoint's default, orphans.
func setPolicyFinalizer(obj kind.Object, o *metav1.DeleteOptions, orphans bool) bool {
	want, was := "", obj.GetFinalizers()
	//lint:ignore SA1019 old clients still send it, and Kubernetes still takes it
	orphan := o.OrphanDependents
	switch {
	case orphan != nil && *orphan:
		want = metav1.FinalizerOrphanDependents
	case saysNothingOfDependents(o):
		if !orphans || slices.ContainsFunc(was, isPolicy) {
			return false
		}
		want = metav1.FinalizerOrphanDependents
	case o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationOrphan:
		want = metav1.FinalizerOrphanDependents
	case o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationForeground:
		want = metav1.FinalizerDeleteDependents
	}
	next := slices.DeleteFunc(slices.Clone(was), isPolicy)
	if want != "" {
		next = append(next, want)
	}
	if slices.Equal(was, next) {
		return false
	}
	obj.SetFinalizers(next)
	return true
}

// isPolicy reports whether a finalizer stands for a propagation policy.
func isPolicy(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// saysNothingOfDependents reports whether the options leave the propagation policy to the endpoint.
func saysNothingOfDependents(o *metav1.DeleteOptions) bool {
	//lint:ignore SA1019 old clients still send it, and Kubernetes still takes it
	return o.PropagationPolicy == nil && o.OrphanDependents == nil
}

// keptByKind starts the deletion of an object that its kind holds. It reports whether the kind holds it.
func keptByKind(k kind.Kind, obj kind.Object) bool {
	return k.BeginDelete(obj)
}

// held reports whether finalizers or the kind hold a deleted object.
func held(k kind.Kind, obj kind.Object) bool {
	if len(obj.GetFinalizers()) > 0 {
		return true
	}
	return !k.Finished(obj)
}

// released reports whether a new state of a deleted object is no longer held by anything.
func released(k kind.Kind, obj kind.Object) bool {
	if obj.GetDeletionTimestamp() == nil || held(k, obj) {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// dryRun returns what the delete would have answered.
func (p deletePlan) dryRun(k kind.Kind, current *object.Object, obj kind.Object) *removed {
	out := &removed{uid: current.UID, stays: p.keep || p.unchanged}
	if p.keep || p.unchanged || p.graceful || k.Info().ReturnsDeleted {
		out.state = obj
	}
	return out
}
