package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// firstDelay and maxDelay bound the delay before a container is restarted, as in Kubernetes: none at first,
// then ten seconds, doubled each time. The delay is reset when a container has run for longer than forgiven.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 5 * time.Minute
	resetAfter = 2 * maxDelay
)

// crashLoop is the reason of a container that waits for its restart.
const crashLoop = "CrashLoopBackOff"

// backoff is the restart history of a container. The zero value has none.
type backoff struct {
	// Delay is the delay of the next restart, counted from the container's end.
	Delay time.Duration
	// Since is when the container ended before its last restart.
	Since time.Time
}

// until returns when a container that ended at the given time may be restarted.
func (b backoff) until(ended time.Time) time.Time {
	if b.Delay == 0 || ended.Sub(b.Since) > resetAfter {
		return ended
	}
	return ended.Add(b.Delay)
}

// next returns the backoff after a restart of a container that ended at the given time.
func (b backoff) next(ended time.Time) backoff {
	if b.Delay == 0 || ended.Sub(b.Since) > resetAfter {
		return backoff{firstDelay, ended}
	}
	return backoff{min(2*b.Delay, maxDelay), ended}
}

// backingOff returns the state of a container that waits for its restart.
func backingOff(pod *corev1.Pod, container string, delay time.Duration) *corev1.ContainerStateWaiting {
	return &corev1.ContainerStateWaiting{
		Reason: crashLoop,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			delay, container, pod.Name, pod.Namespace, pod.UID),
	}
}
