package statefulset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// step is what is to be done of the first thing that is not as it should be: the pods that there should be, then those that are
// too many, then those of another revision. In order means that a pod has to be available before the next one's turn comes.
func (w *work) step() {
	inOrder := w.Set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	if w.keep(inOrder) && w.condemn(inOrder) {
		w.roll()
	}
}

// most is how many pods are seen to in one run where they do not wait for each other: the status is told in between.
const most = 500

// keep decides about the pods that there should be. It is false where one has to be waited for.
func (w *work) keep(inOrder bool) bool {
	var all action.Together
	for i := 0; i < w.size && len(all) < most; i++ {
		todo, settled := w.replica(first(w.Set)+i, inOrder)
		switch {
		case inOrder:
			w.actions = append(w.actions, todo...)
			if !settled {
				return false
			}
		case len(todo) > 0:
			all = append(all, inTurn(todo))
		}
	}
	if len(all) > 0 {
		w.actions = append(w.actions, all)
	}
	return true
}

// replica decides about the pod of one ordinal. It is settled when it needs no waiting for.
func (w *work) replica(ordinal int, inOrder bool) (todo []action.Action, settled bool) {
	pod := w.replicas[ordinal]
	if pod == nil {
		if pod = w.lacking(ordinal); pod == nil {
			return nil, false
		}
		w.asks = w.asks || inOrder && ordinal > first(w.Set)
		return w.make(pod, ordinal), false
	}
	if pods.HasEnded(pod) { // however it ended: what a set keeps runs for ever
		return w.replace(pod, ordinal), false
	}
	pending, whole := pod.Status.Phase == corev1.PodPending, isWhole(w.Set, pod, ordinal)
	settled = !inOrder || w.works(pod)
	if pending || settled && !whole {
		todo = append(todo, w.missing(pod, ordinal)...)
	}
	if pending || settled {
		todo = append(todo, w.retain(pod, ordinal)...)
	}
	if settled && !whole { // which the server may refuse
		mended := pod.DeepCopy()
		mended.Labels = identity(pod, ordinal)
		mended.Spec.Volumes = volumes(w.Set, pod.Spec.Volumes, ordinal)
		todo = append(todo, action.Update[*corev1.Pod]{In: pods.Resource, Object: mended, Tell: w.tell("Update", pod)})
	}
	return todo, settled
}

// make makes a pod, and what it claims first.
func (w *work) make(pod *corev1.Pod, ordinal int) []action.Action {
	if because, blocked := w.blocked(pod, ordinal); blocked {
		if because == "" {
			return nil
		}
		return []action.Action{w.event(true, "FailedCreate", "Create Pod %s in StatefulSet %s failed error: %s", pod.Name, w.Set.Name, because)}
	}
	todo := append(w.missing(pod, ordinal), w.retain(pod, ordinal)...)
	return append(todo, action.Create[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: w.tell("Create", pod)})
}

// replace deletes a pod that has ended, so that it can be made again. One that ends again and again is left alone for a while.
func (w *work) replace(pod *corev1.Pod, ordinal int) []action.Action {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	place := fmt.Sprintf("%s/%d/%d", w.Set.UID, w.Set.Generation, ordinal)
	if left := w.Pauses.Left(place, w.Now); left > 0 {
		w.soon(left)
		return nil
	}
	return []action.Action{w.Pauses.Before(place, action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: w.tell("Delete", pod)})}
}

// condemn deletes the pods that the set is too small for, the highest ordinal first. It is false where one has to be waited for.
func (w *work) condemn(inOrder bool) bool {
	for _, pod := range w.condemned {
		w.actions = append(w.actions, w.retain(pod, w.ordinal(pod))...)
	}
	sick := w.lowestSick()
	var all action.Together
	for _, pod := range w.condemned {
		switch ending := pod.DeletionTimestamp != nil; {
		case inOrder && (ending || !w.works(pod) && pod != sick):
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

// lowestSick is the condemned pod with the lowest ordinal that does not work: it alone may go although it does not. Nil when
// all do.
func (w *work) lowestSick() (lowest *corev1.Pod) {
	for _, pod := range w.condemned {
		if !w.works(pod) {
			lowest = pod
		}
	}
	return lowest
}

// roll deletes the pod with the highest ordinal that is not of the template's revision, after which it is made anew. The next one
// has to wait until that is available. So it goes down to the partition.
func (w *work) roll() {
	if w.Set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	least := 0
	if w.Set.Spec.UpdateStrategy.RollingUpdate != nil {
		least = w.untouched()
	}
	for i := w.size - 1; i >= least; i-- {
		pod := w.replicas[first(w.Set)+i]
		if pod != nil && pod.DeletionTimestamp == nil && revisionOf(pod) != w.line.Now.Name {
			w.actions = append(w.actions, w.deletion(pod))
			if revisionOf(pod) == w.current.Name {
				w.deleted++
			}
			return
		}
		if pod == nil || !w.works(pod) {
			return
		}
	}
}

// available says whether a pod runs and has been ready for long enough, and notes when it will have been.
func (w *work) available(pod *corev1.Pod) bool {
	in, ready := pods.AvailableIn(pod, w.Set.Spec.MinReadySeconds, w.Now)
	w.soon(in)
	return ready && in == 0 && pod.Status.Phase == corev1.PodRunning
}

// works says whether a pod is available and stays.
func (w *work) works(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && w.available(pod) }

// deletion deletes a pod that works, if all are as they were seen.
func (w *work) deletion(pod *corev1.Pod) action.Action {
	w.asks = true
	return action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: w.tell("Delete", pod)}
}

// tell are the events of something that is done to a pod.
func (w *work) tell(verb string, pod *corev1.Pod) action.Tell {
	did := fmt.Sprintf("%s Pod %s in StatefulSet %s", verb, pod.Name, w.Set.Name)
	return action.Tell{
		About: w.Set, Reason: "Successful" + verb, Message: did + " successful",
		FailureReason: "Failed" + verb, FailureBegin: did + " failed error: ",
	}
}
