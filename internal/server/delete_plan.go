package server

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// deletePlan is what a delete does to an object.
type deletePlan struct {
	// unchanged: it is being deleted already, and nothing about that changes.
	unchanged bool
	// keep: something holds it, so it is marked and stays.
	keep bool
	// graceful: the kind gives its objects time to end, so the answer shows the object.
	graceful bool
}

// planDelete decides, and writes into obj what marks it deleted. orphans is what becomes of the dependents when the options
// do not say.
func planDelete(k kind.Kind, obj kind.Object, o *metav1.DeleteOptions, orphans bool) deletePlan {
	grace, graceful := gracePeriod(k, obj, o)
	if graceful && pending(obj) {
		asked, left := o.GracePeriodSeconds, *obj.GetDeletionGracePeriodSeconds()
		if asked == nil || *asked >= left { // its time only gets shorter, and nothing else changes meanwhile
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

// pending says that a deleted object has time left to end.
func pending(obj kind.Object) bool {
	left := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && left != nil && *left > 0
}

// gracePeriod is how long the object may take to end, in seconds.
func gracePeriod(k kind.Kind, obj kind.Object, o *metav1.DeleteOptions) (int64, bool) {
	g, ok := k.(kind.GracePeriod)
	if !ok || !k.Info().Graceful {
		return 0, false
	}
	return max(g.GracePeriod(obj, o.GracePeriodSeconds), 0), true
}

// markDeleted writes when the object is to be gone; of one that was to be gone already, only sooner. Kinds that keep
// their objects by a rule of their own (namespaces) have no grace period.
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
		if sooner.Before(&at) { // all of the time has passed: whoever ends the object still is to see the change
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

// setPolicyFinalizer writes the propagation policy into the finalizers: Foreground and Orphan hold the object until
// the garbage collector has seen to its dependents. A policy that stands there already goes before the kind's own, orphans.
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

// isPolicy says that a finalizer stands for a propagation policy.
func isPolicy(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// saysNothingOfDependents leaves the propagation policy to the endpoint.
func saysNothingOfDependents(o *metav1.DeleteOptions) bool {
	//lint:ignore SA1019 old clients still send it, and Kubernetes still takes it
	return o.PropagationPolicy == nil && o.OrphanDependents == nil
}

// keptByKind asks a kind that holds its objects itself.
func keptByKind(k kind.Kind, obj kind.Object) bool {
	d, ok := k.(kind.DeletePreparer)
	return ok && d.BeginDelete(obj)
}

// held says whether anything but time holds a deleted object.
func held(k kind.Kind, obj kind.Object) bool {
	if len(obj.GetFinalizers()) > 0 {
		return true
	}
	d, ok := k.(kind.DeletePreparer)
	return ok && !d.Finished(obj)
}

// released says that a new state of a deleted object is held by nothing any longer.
func released(k kind.Kind, obj kind.Object) bool {
	if obj.GetDeletionTimestamp() == nil || held(k, obj) {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// dryRun is what the delete would have answered.
func (p deletePlan) dryRun(k kind.Kind, current *object.Object, obj kind.Object) *removed {
	out := &removed{uid: current.UID, stays: p.keep || p.unchanged}
	if p.keep || p.unchanged || p.graceful || k.Info().AnswersDeleted {
		out.state = obj
	}
	return out
}
