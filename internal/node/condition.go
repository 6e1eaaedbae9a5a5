package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Reasons of conditions, as in Kubernetes.
const (
	podCompleted             = "PodCompleted"
	podFailed                = "PodFailed"
	containersNotReady       = "ContainersNotReady"
	containersNotInitialized = "ContainersNotInitialized"
	readinessGatesNotReady   = "ReadinessGatesNotReady"
)

// setConditions sets the conditions that the agent manages. Foreign conditions stay, and an unchanged status
// retains its transition time.
func setConditions(status *corev1.PodStatus, s input) {
	setResizeConditions(status, s)
	containers := containersReady(status, s.Pod)
	for _, c := range []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, len(s.IPs) > 0 && !isTerminal(status.Phase), "", ""),
		initialized(status, s.Pod),
		ready(status, s.Pod, containers),
		containers,
		condition(corev1.PodScheduled, true, "", ""),
	} {
		setCondition(status, s, c)
	}
}

// setCondition sets one condition.
func setCondition(status *corev1.PodStatus, s input, c corev1.PodCondition) {
	c.ObservedGeneration = cmp.Or(c.ObservedGeneration, s.Pod.Generation)
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

// initialized returns the condition Initialized: whether the init containers have completed and the sidecars
// have started.
func initialized(status *corev1.PodStatus, pod *corev1.Pod) corev1.PodCondition {
	if status.Phase == corev1.PodSucceeded {
		return condition(corev1.PodInitialized, true, podCompleted, "")
	}
	var incomplete []string
	for i := range pod.Spec.InitContainers {
		c, done := &pod.Spec.InitContainers[i], &status.InitContainerStatuses[i]
		if isSidecarSpec(c) && !ptr.Deref(done.Started, false) || !isSidecarSpec(c) && !done.Ready {
			incomplete = append(incomplete, c.Name)
		}
	}
	if len(incomplete) == 0 || slices.ContainsFunc(status.ContainerStatuses, hasStarted) {
		return condition(corev1.PodInitialized, true, "", "")
	}
	return condition(corev1.PodInitialized, false, containersNotInitialized,
		fmt.Sprintf("containers with incomplete status: %s", incomplete))
}

// hasStarted reports whether a container has ever run.
func hasStarted(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0
}

// containersReady returns the condition ContainersReady: whether all containers, including sidecars, are
// ready.
func containersReady(status *corev1.PodStatus, pod *corev1.Pod) corev1.PodCondition {
	switch status.Phase {
	case corev1.PodSucceeded:
		return condition(corev1.ContainersReady, false, podCompleted, "")
	case corev1.PodFailed:
		return condition(corev1.ContainersReady, false, podFailed, "")
	}
	var unready []string
	for i := range pod.Spec.InitContainers {
		if isSidecarSpec(&pod.Spec.InitContainers[i]) && !status.InitContainerStatuses[i].Ready {
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
	return condition(corev1.ContainersReady, false, containersNotReady,
		fmt.Sprintf("containers with unready status: %s", unready))
}

// ready returns the condition Ready: whether the containers are ready and the conditions named by the
// readiness gates are true.
func ready(status *corev1.PodStatus, pod *corev1.Pod, containers corev1.PodCondition) corev1.PodCondition {
	if containers.Status != corev1.ConditionTrue {
		containers.Type = corev1.PodReady
		return containers
	}
	var missing []string
	for _, gate := range pod.Spec.ReadinessGates {
		at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType
		})
		switch {
		case at < 0:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
				gate.ConditionType))
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
