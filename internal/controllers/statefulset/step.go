package statefulset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// step decides on the first necessary change, in this order: create missing pods, delete surplus pods,
// replace pods of another revision. With ordered pod management, each pod must be available before the next
// one is handled.
func (w *decision) step() {
	inOrder := w.Set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	if w.maintainReplicas(inOrder) && w.deleteCondemned(inOrder) {
		w.roll()
	}
}

// maxBatch limits how many pods one run handles with parallel pod management; the status is updated in between.
const maxBatch = 500

// maintainReplicas creates and repairs the desired pods. It returns false if the set must wait for a pod.
func (w *decision) maintainReplicas(inOrder bool) bool {
	var all action.Parallel
	for i := 0; i < w.size && len(all) < maxBatch; i++ {
		todo, settled := w.replica(firstOrdinal(w.Set)+i, inOrder)
		switch {
		case inOrder:
			w.actions = append(w.actions, todo...)
			if !settled {
				return false
			}
		case len(todo) > 0:
			all = append(all, sequence(todo))
		}
	}
	if len(all) > 0 {
		w.actions = append(w.actions, all)
	}
	return true
}

// replica returns the actions for the pod of one ordinal. settled is false if the next ordinal must wait for
// this pod.
func (w *decision) replica(ordinal int, inOrder bool) (todo []action.Action, settled bool) {
	pod := w.replicas[ordinal]
	if pod == nil {
		if pod = w.podToCreate(ordinal); pod == nil {
			return nil, false
		}
		w.needsCheck = w.needsCheck || inOrder && ordinal > firstOrdinal(w.Set)
		return w.create(pod, ordinal), false
	}
	if pods.IsTerminal(pod) { // regardless of the result: pods of a set run forever
		return w.replace(pod, ordinal), false
	}
	pending, whole := pod.Status.Phase == corev1.PodPending, hasIdentityAndVolumes(w.Set, pod, ordinal)
	settled = !inOrder || w.isHealthy(pod)
	if pending || settled && !whole {
		todo = append(todo, w.createClaims(pod, ordinal)...)
	}
	if pending || settled {
		todo = append(todo, w.retain(pod, ordinal)...)
	}
	if settled && !whole { // last, because the server may reject the update
		mended := pod.DeepCopy()
		mended.Labels = identity(pod, ordinal)
		mended.Spec.Volumes = volumes(w.Set, pod.Spec.Volumes, ordinal)
		todo = append(todo, action.Update[*corev1.Pod]{Resource: pods.Resource, Object: mended,
			Events: w.events("Update", pod)})
	}
	return todo, settled
}

// create creates a pod, after the claims that it uses.
func (w *decision) create(pod *corev1.Pod, ordinal int) []action.Action {
	if because, blocked := w.blocked(pod, ordinal); blocked {
		if because == "" {
			return nil
		}
		return []action.Action{w.event(true, "FailedCreate", "Create Pod %s in StatefulSet %s failed error: %s",
			pod.Name, w.Set.Name, because)}
	}
	todo := append(w.createClaims(pod, ordinal), w.retain(pod, ordinal)...)
	return append(todo, action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod,
		Events: w.events("Create", pod)})
}

// replace deletes a terminated pod; the next decision creates it again. If the pod keeps terminating, the
// deletion is delayed by a back-off.
func (w *decision) replace(pod *corev1.Pod, ordinal int) []action.Action {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	place := fmt.Sprintf("%s/%d/%d", w.Set.UID, w.Set.Generation, ordinal)
	if left := w.Backoff.Remaining(place, w.Now); left > 0 {
		w.requeue(left)
		return nil
	}
	return []action.Action{w.Backoff.StartBefore(place,
		action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: w.events("Delete", pod)})}
}

// deleteCondemned deletes the surplus pods, the highest ordinal first. It returns false if the set must wait for a
// pod.
func (w *decision) deleteCondemned(inOrder bool) bool {
	for _, pod := range w.condemned {
		w.actions = append(w.actions, w.retain(pod, w.ordinal(pod))...)
	}
	sick := w.lowestUnavailable()
	var all action.Parallel
	for _, pod := range w.condemned {
		switch ending := pod.DeletionTimestamp != nil; {
		case inOrder && (ending || !w.isHealthy(pod) && pod != sick):
			return false
		case ending:
		case inOrder:
			w.actions = append(w.actions, w.deletion(pod))
			return false
		default:
			all = append(all, w.deletion(pod))
		}
	}
	if len(all) > 0 {
		w.actions = append(w.actions, all)
	}
	return true
}

// lowestUnavailable returns the condemned pod with the lowest ordinal that is not available, or nil. It is the only
// unavailable pod that may be deleted in order.
func (w *decision) lowestUnavailable() (lowest *corev1.Pod) {
	for _, pod := range w.condemned {
		if !w.isHealthy(pod) {
			lowest = pod
		}
	}
	return lowest
}

// roll deletes the pod with the highest ordinal that is not of the new revision, so that it is created again.
// It waits until that pod is available before it deletes the next one, down to the partition.
func (w *decision) roll() {
	if w.Set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	least := 0
	if w.Set.Spec.UpdateStrategy.RollingUpdate != nil {
		least = w.currentCount()
	}
	for i := w.size - 1; i >= least; i-- {
		pod := w.replicas[firstOrdinal(w.Set)+i]
		if pod != nil && pod.DeletionTimestamp == nil && revisionOf(pod) != w.history.Current.Name {
			w.actions = append(w.actions, w.deletion(pod))
			if revisionOf(pod) == w.current.Name {
				w.terminating++
			}
			return
		}
		if pod == nil || !w.isHealthy(pod) {
			return
		}
	}
}

// available reports whether a pod runs and has been ready for the set's minReadySeconds. If that time has not
// passed yet, it requests another decision for when it has.
func (w *decision) available(pod *corev1.Pod) bool {
	in, ready := pods.AvailableIn(pod, w.Set.Spec.MinReadySeconds, w.Now)
	w.requeue(in)
	return ready && in == 0 && pod.Status.Phase == corev1.PodRunning
}

// isHealthy reports whether a pod is available and not being deleted.
func (w *decision) isHealthy(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && w.available(pod)
}

// deletion returns the deletion of a pod, which depends on the observed state of all pods.
func (w *decision) deletion(pod *corev1.Pod) action.Action {
	w.needsCheck = true
	return action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: w.events("Delete", pod)}
}

// events returns the events of an action on a pod.
func (w *decision) events(verb string, pod *corev1.Pod) action.Events {
	did := fmt.Sprintf("%s Pod %s in StatefulSet %s", verb, pod.Name, w.Set.Name)
	return action.Events{
		Object: w.Set, Reason: "Successful" + verb, Message: did + " successful",
		FailureReason: "Failed" + verb, FailurePrefix: did + " failed error: ",
	}
}
