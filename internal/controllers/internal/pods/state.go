package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsActive reports whether a pod has not terminated and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return !IsTerminal(pod) && pod.DeletionTimestamp == nil }

// IsTerminal reports whether a pod has succeeded or failed, so that none of its containers will run again.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsReady reports whether a pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool { return readyCondition(pod) != nil }

// AvailableIn returns after how long a pod that stays ready counts as available, which is minReadySeconds
// after it became ready: 0 if it is available now. The result is false for a pod that is not ready.
func AvailableIn(pod *corev1.Pod, minReadySeconds int32, now time.Time) (time.Duration, bool) {
	ready := readyCondition(pod)
	if ready == nil {
		return 0, false
	}
	if minReadySeconds == 0 {
		return 0, true
	}
	since := ready.LastTransitionTime
	if since.IsZero() { // the time of the transition is unknown
		return time.Duration(minReadySeconds) * time.Second, true
	}
	return max(0, since.Add(time.Duration(minReadySeconds)*time.Second).Sub(now)), true
}

// readyCondition returns the condition Ready if its status is True, and otherwise nil.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
