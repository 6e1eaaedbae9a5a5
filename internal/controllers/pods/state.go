package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsActive says that a pod does its work, or will: it has not ended and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp == nil }

// HasEnded says that nothing of a pod will run any more.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsReady says that a pod can be sent requests.
func IsReady(pod *corev1.Pod) bool { return readiness(pod) != nil }

// AvailableIn is after how long a pod that stays as it is counts as available, which it does once it has been ready for
// so many seconds: 0 when it is available now. It is false for a pod that is not ready.
func AvailableIn(pod *corev1.Pod, minReadySeconds int32, now time.Time) (time.Duration, bool) {
	ready := readiness(pod)
	if ready == nil {
		return 0, false
	}
	if minReadySeconds == 0 {
		return 0, true
	}
	since := ready.LastTransitionTime
	if since.IsZero() { // nobody knows how long it has been
		return time.Duration(minReadySeconds) * time.Second, true
	}
	return max(0, since.Add(time.Duration(minReadySeconds)*time.Second).Sub(now)), true
}

// readiness is the condition Ready where it is true, or nil.
func readiness(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
