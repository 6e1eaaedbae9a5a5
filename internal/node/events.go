package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// recordEvents records events about the changes of container statuses, in the words of a kubelet.
func (a *agent) recordEvents(seen input, status corev1.PodStatus) {
	pod := seen.Pod
	before := allStatuses(&pod.Status)
	for _, now := range allStatuses(&status) {
		var was corev1.ContainerStatus
		if at := slices.IndexFunc(before, func(c corev1.ContainerStatus) bool { return c.Name == now.Name }); at >= 0 {
			was = before[at]
		}
		pull := seen.Containers[now.Name].Pull
		if pull > 0 && !waits(was, creating) && (waits(now, creating) || starts(now) > starts(was)) {
			a.events.Normal(pod, "Pulling", "Pulling image %q", now.Image)
		}
		if starts(now) > starts(was) {
			if pull > 0 {
				a.events.Normal(pod, "Pulled",
					"Successfully pulled image %q in %v (%v including waiting). Image size: 0 bytes.",
					now.Image, pull, pull)
			} else {
				a.events.Normal(pod, "Pulled", "Container image %q already present on machine", now.Image)
			}
			a.events.Normal(pod, "Created", "Container created")
			a.events.Normal(pod, "Started", "Container started")
		}
		if f := seen.Containers[now.Name].PullFailure; f != nil && now.State.Waiting != nil &&
			!equality.Semantic.DeepEqual(now.State.Waiting, was.State.Waiting) {
			a.recordPullFailure(pod, f, now.State.Waiting, pull > 0 && waits(was, creating))
		}
		if waits(now, crashLoop) && !waits(was, crashLoop) {
			a.events.Warning(pod, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
				now.Name, pod.Name, pod.Namespace, pod.UID)
		}
	}
}

// allStatuses returns the statuses of all containers of a pod.
func allStatuses(s *corev1.PodStatus) []corev1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses)
}

// starts returns how often a container was started according to its status, including a run that has ended.
func starts(c corev1.ContainerStatus) int32 {
	if c.State.Running != nil || c.State.Terminated != nil && !wasLost(c) || waits(c, crashLoop) {
		return c.RestartCount + 1
	}
	return c.RestartCount
}

func waits(c corev1.ContainerStatus, reason string) bool {
	return c.State.Waiting != nil && c.State.Waiting.Reason == reason
}
