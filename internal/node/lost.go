package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// statusUnknown is the reason of a terminated container that never ran, or whose end was not observed.
const statusUnknown = "ContainerStatusUnknown"

// terminateContainers marks the containers of a pod that has ended as terminated, as a kubelet does. Containers that
// had to wait for an init container that never completed keep their state.
func terminateContainers(status *corev1.PodStatus) {
	reached := status.InitContainerStatuses
	for len(reached) > 1 && !hasRun(reached[len(reached)-1]) {
		reached = reached[:len(reached)-1]
	}
	for i := range reached {
		terminate(&reached[i])
	}
	all := status.InitContainerStatuses
	if len(all) > 0 && !hasSucceeded(all[len(all)-1]) && !slices.ContainsFunc(status.ContainerStatuses, hasRun) {
		return
	}
	for i := range status.ContainerStatuses {
		terminate(&status.ContainerStatuses[i])
	}
}

func terminate(c *corev1.ContainerStatus) {
	if c.State.Terminated != nil {
		return
	}
	c.Ready = false
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: statusUnknown, Message: "The container could not be located when the pod was terminated",
	}}
}

// hasRun reports whether a container runs or has run.
func hasRun(c corev1.ContainerStatus) bool {
	return c.State.Waiting == nil || c.LastTerminationState.Terminated != nil
}

func hasSucceeded(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// wasLost reports whether terminateContainers terminated a container.
func wasLost(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.Reason == statusUnknown
}

// allTerminated reports whether all containers that have a status are terminated.
func allTerminated(status *corev1.PodStatus) bool {
	other := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	return !slices.ContainsFunc(status.InitContainerStatuses, other) &&
		!slices.ContainsFunc(status.ContainerStatuses, other)
}
