package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Reasons of conditions, in Kubernetes' words.
const (
	podCompleted             = "PodCompleted"
	podFailed                = "PodFailed"
	containersNotReady       = "ContainersNotReady"
	containersNotInitialized = "ContainersNotInitialized"
	readinessGatesNotReady   = "ReadinessGatesNotReady"
)

// setConditions writes the conditions that are the agent's. Those of others stay; one that does not change keeps its time.
func setConditions(status *corev1.PodStatus, s Seen) {
	containers := containersReady(status, s.Pod)
	for _, c := range []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, len(s.IPs) > 0 && !ended(status.Phase), "", ""),
		initialized(status, s.Pod),
		ready(status, s.Pod, containers),
		containers,
		condition(corev1.PodScheduled, true, "", ""),
	} {
		setCondition(status, s, c)
	}
}

// setCondition writes one condition.
func setCondition(status *corev1.PodStatus, s Seen, c corev1.PodCondition) {
	c.ObservedGeneration = s.Pod.Generation
	c.LastTransitionTime = metav1.NewTime(s.Now).Rfc3339Copy()
	at := slices.IndexFunc(status.Conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
	if at < 0 {
		status.Conditions = append(status.Conditions, c)
		return
	}
	if old := status.Conditions[at]; old.Status == c.Status {
		c.LastTransitionTime, c.LastProbeTime = old.LastTransitionTime, old.LastProbeTime
	}
	status.Conditions[at] = c
}

func condition(kind corev1.PodConditionType, is bool, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if is {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// initialized is whether the init containers have done what the others need.
func initialized(status *corev1.PodStatus, pod *corev1.Pod) corev1.PodCondition {
	if status.Phase == corev1.PodSucceeded {
		return condition(corev1.PodInitialized, true, podCompleted, "")
	}
	var incomplete []string
	for i := range pod.Spec.InitContainers {
		c, done := &pod.Spec.InitContainers[i], &status.InitContainerStatuses[i]
		if sidecar(c) && !ptr.Deref(done.Started, false) || !sidecar(c) && !done.Ready {
			incomplete = append(incomplete, c.Name)
		}
	}
	if len(incomplete) == 0 || slices.ContainsFunc(status.ContainerStatuses, began) {
		return condition(corev1.PodInitialized, true, "", "")
	}
	return condition(corev1.PodInitialized, false, containersNotInitialized,
		fmt.Sprintf("containers with incomplete status: %s", incomplete))
}

// began says whether a container has run.
func began(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0
}

// containersReady is whether all containers, sidecars too, are ready.
func containersReady(status *corev1.PodStatus, pod *corev1.Pod) corev1.PodCondition {
	switch status.Phase {
	case corev1.PodSucceeded:
		return condition(corev1.ContainersReady, false, podCompleted, "")
	case corev1.PodFailed:
		return condition(corev1.ContainersReady, false, podFailed, "")
	}
	var unready []string
	for i := range pod.Spec.InitContainers {
		if sidecar(&pod.Spec.InitContainers[i]) && !status.InitContainerStatuses[i].Ready {
			unready = append(unready, pod.Spec.InitContainers[i].Name)
		}
	}
	for _, c := range status.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	if len(unready) == 0 {
		return condition(corev1.ContainersReady, true, "", "")
	}
	return condition(corev1.ContainersReady, false, containersNotReady, fmt.Sprintf("containers with unready status: %s", unready))
}

// ready is whether a pod may be given work: its containers are ready, and so is, by the conditions that its readiness gates
// name, whatever else it waits for.
func ready(status *corev1.PodStatus, pod *corev1.Pod, containers corev1.PodCondition) corev1.PodCondition {
	if containers.Status != corev1.ConditionTrue {
		containers.Type = corev1.PodReady
		return containers
	}
	var missing []string
	for _, gate := range pod.Spec.ReadinessGates {
		at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		switch {
		case at < 0:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case status.Conditions[at].Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
				gate.ConditionType, status.Conditions[at].Status))
		}
	}
	if len(missing) > 0 {
		return condition(corev1.PodReady, false, readinessGatesNotReady, strings.Join(missing, ", "))
	}
	return condition(corev1.PodReady, true, "", "")
}
