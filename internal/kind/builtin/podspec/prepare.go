package podspec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prepare sets the status of a new pod, and restores what a write must not change.
func Prepare(pod, old *corev1.Pod, sub string) {
	switch {
	case old == nil:
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		markGated(pod)
		mergeMatchLabelKeys(pod)
		applyAppArmorAnnotations(pod)
		defaultPodResources(&pod.Spec)
		pod.Status.QOSClass = qosClass(&pod.Spec)
	case sub == "":
		if keepPodResources(pod, old) {
			countGeneration(pod, old)
		}
	case sub == "status":
		prepareStatus(pod, old)
	case sub == "ephemeralcontainers":
		prepareEphemeral(pod, old)
	case sub == "resize":
		prepareResize(pod, old)
	case sub == "binding":
		// A binding is a decision of the scheduler, not a change of the declared state: the generation does
		// not change.
		pod.Generation = old.Generation
		pod.Status.NominatedNodeName = "" // the nomination is fulfilled or obsolete
		MarkScheduled(pod)
	}
}

// markGated sets the condition that the pod waits for its scheduling gates.
func markGated(pod *corev1.Pod) {
	if len(pod.Spec.SchedulingGates) == 0 {
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type:    corev1.PodScheduled,
		Status:  corev1.ConditionFalse,
		Reason:  corev1.PodReasonSchedulingGated,
		Message: "Scheduling is blocked due to non-empty scheduling gates",
	})
}

// MarkScheduled sets the PodScheduled condition. If it is already true, its transition time is retained.
func MarkScheduled(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status != corev1.ConditionTrue {
			*c = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.Now()}
		}
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
	})
}
