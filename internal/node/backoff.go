package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How long a container that ends again and again waits before it is started once more, as in Kubernetes: not at all the first
// time, then ten seconds, doubled each time. One that ran for as long as forgiven begins anew.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 5 * time.Minute
	forgiven   = 2 * maxDelay
)

// crashLoop is the reason of a container that waits to be started again.
const crashLoop = "CrashLoopBackOff"

// Backoff is how patient the agent is with one container. The zero value has no history.
type Backoff struct {
	// Delay is what the next restart waits for, counted from the container's end.
	Delay time.Duration
	// Since is when the end that was last answered with a restart happened.
	Since time.Time
}

// until is when a container that ended then may be started again.
func (b Backoff) until(ended time.Time) time.Time {
	if b.Delay == 0 || ended.Sub(b.Since) > forgiven {
		return ended
	}
	return ended.Add(b.Delay)
}

// next is the patience that is left when a container that ended then is started again.
func (b Backoff) next(ended time.Time) Backoff {
	if b.Delay == 0 || ended.Sub(b.Since) > forgiven {
		return Backoff{firstDelay, ended}
	}
	return Backoff{min(2*b.Delay, maxDelay), ended}
}

// backingOff is the state of a container that waits for its next start.
func backingOff(pod *corev1.Pod, container string, delay time.Duration) *corev1.ContainerStateWaiting {
	return &corev1.ContainerStateWaiting{
		Reason: crashLoop,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			delay, container, pod.Name, pod.Namespace, pod.UID),
	}
}
