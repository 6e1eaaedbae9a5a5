package write

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/stored"
)

// deletePlan is the effect of a delete on an object.
type deletePlan struct {
	// unchanged: the object is already being deleted, and the delete changes nothing.
	unchanged bool
	// keep: something holds the object, so it is marked as deleted and still exists.
	keep bool
	// graceful: the kind has a grace period, so the answer shows the object.
	graceful bool
	// mark: the object is removed at once. Watchers must see its deletion time before the removal, so that is committed
	// first.
	mark bool
}

// planDelete returns the effect of a delete, and marks obj as deleted. orphans is the propagation policy when
// the options name none.
func planDelete(k kind.Kind, obj kind.Object, o *metav1.DeleteOptions, orphans bool) deletePlan {
	var grace int64 // in seconds
	graceful, pending := k.Info().Graceful, stored.Pending(obj)
	if graceful {
		grace = max(k.GracePeriod(obj, o.GracePeriodSeconds), 0)
	}
	if graceful && pending {
		requested, left := o.GracePeriodSeconds, *obj.GetDeletionGracePeriodSeconds()
		if requested == nil || *requested >= left { // the time only gets shorter, and nothing else changes meanwhile
			return deletePlan{unchanged: true, graceful: true}
		}
		if grace = *requested; grace < 0 {
			grace = 1
		}
	}
	deleting := obj.GetDeletionTimestamp() != nil
	finalizersChanged := setPolicyFinalizer(obj, o, orphans)
	keptByKind := k.BeginDelete(obj)
	if deleting && !pending && !finalizersChanged {
		return deletePlan{unchanged: held(k, obj), graceful: graceful}
	}
	plan := deletePlan{graceful: graceful, keep: keptByKind || len(obj.GetFinalizers()) > 0 || graceful && grace > 0}
	if plan.keep || graceful {
		stored.MarkDeleted(obj, grace, keptByKind)
		plan.mark = !plan.keep
	}
	return plan
}

// setPolicyFinalizer sets the finalizer of the propagation policy: Foreground and Orphan hold the object
// until the garbage collector has processed its dependents. An existing policy takes precedence over the
// endpoint's default, orphans. It reports whether the finalizers changed.
func setPolicyFinalizer(obj kind.Object, o *metav1.DeleteOptions, orphans bool) bool {
	want, was := "", obj.GetFinalizers()
	//lint:ignore SA1019 old clients still send it, and Kubernetes still takes it
	orphan := o.OrphanDependents
	switch {
	case orphan != nil && *orphan:
		want = metav1.FinalizerOrphanDependents
	case leavesPropagation(o):
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

// leavesPropagation reports whether the options leave the propagation policy to the endpoint.
func leavesPropagation(o *metav1.DeleteOptions) bool {
	//lint:ignore SA1019 old clients still send it, and Kubernetes still takes it
	return o.PropagationPolicy == nil && o.OrphanDependents == nil
}

// held reports whether finalizers or the kind hold a deleted object.
func held(k kind.Kind, obj kind.Object) bool { return len(obj.GetFinalizers()) > 0 || !k.Finished(obj) }

// released reports whether a new state of a deleted object is no longer held by anything.
func released(k kind.Kind, obj kind.Object) bool {
	if obj.GetDeletionTimestamp() == nil || held(k, obj) {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
