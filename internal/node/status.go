package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// creating is the reason of a container that is being started.
const creating = "ContainerCreating"

// newStatus returns the status of a pod after a decision.
func newStatus(s input, p plan) corev1.PodStatus {
	status := *s.Pod.Status.DeepCopy()
	status.ObservedGeneration = s.Pod.Generation
	if status.StartTime == nil {
		now := metav1.NewTime(s.Now).Rfc3339Copy()
		status.StartTime = &now
	}
	if s.Final == "" || status.PodIP == "" { // a pod that has ended may no longer own its address
		address(&status, s)
	}
	status.InitContainerStatuses = statuses(s, p, s.Pod.Spec.InitContainers, status.InitContainerStatuses)
	status.ContainerStatuses = statuses(s, p, s.Pod.Spec.Containers, status.ContainerStatuses)
	status.EphemeralContainerStatuses = ephemeralStatuses(s, p, status.EphemeralContainerStatuses)
	if status.Phase = s.Final; s.Final == "" {
		status.Phase = phase(s, p)
	}
	if p.Ended && isTerminal(status.Phase) {
		terminateContainers(&status)
	}
	if p.Reason != "" {
		status.Reason, status.Message = p.Reason, p.Message
	}
	status.Resources, status.AllocatedResources = podResources(s.Pod, status.Phase)
	setConditions(&status, s)
	return status
}

// rejected returns the status of a pod that its node does not admit.
func rejected(s input, r *refusal) corev1.PodStatus {
	status := *s.Pod.Status.DeepCopy()
	status.ObservedGeneration = s.Pod.Generation
	now := metav1.NewTime(s.Now).Rfc3339Copy()
	status.StartTime = &now
	status.Phase, status.Reason, status.Message = corev1.PodFailed, r.Reason, "Pod was rejected: "+r.Message
	setCondition(&status, s, condition(corev1.PodReady, false, podFailed, ""))
	setCondition(&status, s, condition(corev1.ContainersReady, false, podFailed, ""))
	return status
}

func address(status *corev1.PodStatus, s input) {
	if len(s.HostIPs) > 0 {
		status.HostIP, status.HostIPs = s.HostIPs[0], nil
		for _, ip := range s.HostIPs {
			status.HostIPs = append(status.HostIPs, corev1.HostIP{IP: ip})
		}
	}
	ips := s.IPs
	if s.Pod.Spec.HostNetwork {
		ips = s.HostIPs
	}
	if len(ips) > 0 {
		status.PodIP, status.PodIPs = ips[0], nil
		for _, ip := range ips {
			status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

// phase returns the phase of a pod. A pod whose containers have all ended has ended only if none is
// restarted.
func phase(s input, p plan) corev1.PodPhase {
	running, waiting, failed := false, false, p.Reason != ""
	for _, name := range names(s.Pod) {
		state, started := s.Containers[name]
		isInit := isInitContainer(s.Pod, name)
		switch {
		case isInit:
			failed = failed || state.ended() != nil && !state.succeeded() && !isSidecar(s.Pod, name)
		case state.State.Running != nil:
			running = true
		case !started || state.waiting() && state.Last.Terminated == nil:
			waiting = true
		default:
			failed = failed || !state.succeeded()
		}
	}
	switch {
	case p.Ended && (failed || waiting && s.Pod.DeletionTimestamp == nil):
		return corev1.PodFailed
	case waiting:
		return corev1.PodPending
	case p.Ended && !running:
		return corev1.PodSucceeded
	default:
		return corev1.PodRunning
	}
}

func isInitContainer(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
}

func isSidecar(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && isSidecarSpec(&c)
	})
}

// statuses returns the statuses of containers. A container that the runtime does not know retains its status.
func statuses(s input, p plan, containers []corev1.Container,
	before []corev1.ContainerStatus) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range containers {
		all = append(all, containerStatus(s, p, &containers[i], before))
	}
	return all
}

// ephemeralStatuses returns the statuses of ephemeral containers, which have no probes.
func ephemeralStatuses(s input, p plan, before []corev1.ContainerStatus) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range s.Pod.Spec.EphemeralContainers {
		status := containerStatus(s, p, ephemeral(s.Pod, i), before)
		status.Started, status.Ready = nil, false
		all = append(all, status)
	}
	return all
}

func containerStatus(s input, p plan, c *corev1.Container, before []corev1.ContainerStatus) corev1.ContainerStatus {
	state, known := s.Containers[c.Name]
	at := slices.IndexFunc(before, func(b corev1.ContainerStatus) bool { return b.Name == c.Name })
	if at >= 0 && !known {
		return before[at]
	}
	no := false
	status := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: state.ImageID, ContainerID: state.ID, RestartCount: state.Restarts,
		State: state.State, LastTerminationState: state.Last, Started: &no,
	}
	if state.hasRun() {
		resources := c.Resources
		status.Resources, status.AllocatedResources = &resources, resources.Requests
		if at >= 0 && state.State.Running != nil && slices.Contains(s.Resize.Restarts, c.Name) {
			status.Resources = before[at].Resources
		}
	}
	if !known {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: creating}
		if len(s.Pod.Spec.InitContainers) > 0 {
			status.State.Waiting.Reason = "PodInitializing"
		}
	}
	if waiting := p.Waiting[c.Name]; waiting != nil {
		status.LastTerminationState = state.State
		status.State = corev1.ContainerState{Waiting: waiting}
	} else if state.PullFailure != nil {
		status.State.Waiting = waitingForImage(state.PullFailure, s.Now)
	}
	switch {
	case state.State.Running != nil:
		started := state.Started
		status.Started, status.Ready = &started, state.Started && state.Ready
	case isInitContainer(s.Pod, c.Name) && !isSidecarSpec(c):
		status.Ready = state.succeeded() // an init container is ready when it has succeeded
	}
	return status
}
