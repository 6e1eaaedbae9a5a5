package statefulset

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	next := firstOrdinal(w.Set)
	for ordinal := range w.ordinals(w.limit.Pods) {
		if len(all) >= maxBatch {
			break
		}
		if inOrder && ordinal != next {
			return false // no pod may be created now
		}
		next++
		actions, proceed := w.replica(ordinal, inOrder)
		switch {
		case w.decodeErr != nil:
			return false
		case inOrder:
			w.actions = append(w.actions, actions...)
			if !proceed {
				return false
			}
		case len(actions) > 0:
			all = append(all, sequence(actions))
		}
	}
	if len(all) > 0 {
		w.actions = append(w.actions, all)
	}
	return !inOrder || next-firstOrdinal(w.Set) == w.size
}

// ordinals returns the ordinals that have a pod, and the first ones that have none, at most missing of these, in
// ascending order. A set may have a thousand times more ordinals than pods.
func (w *decision) ordinals(missing int) iter.Seq[int] {
	return func(yield func(int) bool) {
		next, end := firstOrdinal(w.Set), firstOrdinal(w.Set)+w.size
		for _, existing := range append(slices.Sorted(maps.Keys(w.replicas)), end) {
			for ; next < existing && missing > 0; next++ {
				if missing--; !yield(next) {
					return
				}
			}
			if existing < end && !yield(existing) {
				return
			}
			next = existing + 1
		}
	}
}

// replica returns the actions for the pod of one ordinal. proceed is false if the next ordinal must wait for
// this pod.
func (w *decision) replica(ordinal int, inOrder bool) (actions []action.Action, proceed bool) {
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
	pending, complete := pod.Status.Phase == corev1.PodPending, hasIdentityAndVolumes(w.Set, pod, ordinal)
	proceed = !inOrder || w.isHealthy(pod)
	if pending || proceed && !complete {
		actions = append(actions, w.createClaims(pod, ordinal)...)
	}
	if pending || proceed {
		actions = append(actions, w.updateClaimOwners(pod, ordinal)...)
	}
	if proceed && !complete { // last, because the server may reject the update
		repaired := pod.DeepCopy()
		repaired.Labels = identity(pod, ordinal)
		repaired.Spec.Volumes = volumes(w.Set, pod.Spec.Volumes, ordinal)
		actions = append(actions, action.Update[*corev1.Pod]{Resource: pods.Resource, Object: repaired,
			Events: w.events("Update", pod)})
	}
	return actions, proceed
}

// create creates a pod, after the claims that it uses.
func (w *decision) create(pod *corev1.Pod, ordinal int) []action.Action {
	if reason, blocked := w.blocked(pod, ordinal); blocked {
		if reason == "" {
			return nil
		}
		return []action.Action{w.event(true, "FailedCreate", "Create Pod %s in StatefulSet %s failed error: %s",
			pod.Name, w.Set.Name, reason)}
	}
	actions := append(w.createClaims(pod, ordinal), w.updateClaimOwners(pod, ordinal)...)
	return append(actions, action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod,
		Events: w.events("Create", pod)})
}

// replace deletes a terminated pod; the next decision creates it again. If the pod keeps terminating, the
// deletion is delayed by a back-off.
func (w *decision) replace(pod *corev1.Pod, ordinal int) []action.Action {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	key := fmt.Sprintf("%s/%d/%d", w.Set.UID, w.Set.Generation, ordinal)
	if remaining := w.Backoff.Remaining(key, w.Now); remaining > 0 {
		w.requeue(remaining)
		return nil
	}
	return []action.Action{w.Backoff.StartBefore(key,
		action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: w.events("Delete", pod)})}
}

// deleteCondemned deletes the surplus pods, the highest ordinal first. It returns false if the set must wait for a
// pod.
func (w *decision) deleteCondemned(inOrder bool) bool {
	for _, pod := range w.condemned {
		w.actions = append(w.actions, w.updateClaimOwners(pod, w.ordinal(pod))...)
	}
	unhealthy := w.lowestUnavailable()
	var all action.Parallel
	for _, pod := range w.condemned {
		switch deleting := pod.DeletionTimestamp != nil; {
		case inOrder && (deleting || !w.isHealthy(pod) && pod != unhealthy):
			return false
		case deleting:
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

// roll deletes pods above the partition that are not of the new revision, so that they are created again: those that
// are not available anyway, and then the highest ordinals until maxUnavailable pods of the set are not available.
func (w *decision) roll() {
	if w.Set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	partition := 0
	if w.Set.Spec.UpdateStrategy.RollingUpdate != nil {
		partition = w.currentCount()
	}
	remaining := w.maxUnavailable() - (w.size - len(w.replicas))
	var outdated []*corev1.Pod
	for _, ordinal := range slices.Backward(slices.Sorted(maps.Keys(w.replicas))) {
		pod := w.replicas[ordinal]
		healthy := w.isHealthy(pod)
		if !healthy {
			remaining--
		}
		switch {
		case ordinal-firstOrdinal(w.Set) < partition, revisionOf(pod) == w.history.Current.Name:
		case healthy:
			outdated = append(outdated, pod)
		case pods.IsActive(pod): // maintainReplicas deletes terminated pods
			w.deleteOutdated(pod)
		}
	}
	for _, pod := range outdated[:min(len(outdated), max(remaining, 0))] {
		w.deleteOutdated(pod)
	}
}

// maxUnavailable returns how many pods may be unavailable during a rolling update. A percentage of the desired pods
// is rounded down, to at least 1.
func (w *decision) maxUnavailable() int {
	rolling := w.Set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, w.size, false)
	if err != nil { // validation rejects such a value
		return 1
	}
	return max(n, 1)
}

// deleteOutdated deletes a pod that is not of the new revision.
func (w *decision) deleteOutdated(pod *corev1.Pod) {
	w.actions = append(w.actions, w.deletion(pod))
	if revisionOf(pod) == w.current.Name {
		w.terminating++
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
