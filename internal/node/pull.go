package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Reasons of a container that waits for its image.
const (
	errImagePull      = "ErrImagePull"
	errImageNeverPull = "ErrImageNeverPull"
	imagePullBackOff  = "ImagePullBackOff"
)

// A failed pull is reported as ErrImagePull for failureShown, and then as ImagePullBackOff until the next attempt. A
// kubelet reports it until its next look at the pod, which the start of the pod's sandbox causes about a second later.
const failureShown = time.Second

// firstPullDelay and maxPullDelay bound the delay between two attempts to pull an image, which doubles each time.
const (
	firstPullDelay = 10 * time.Second
	maxPullDelay   = 5 * time.Minute
)

// delay returns the time from a failed attempt to the next one.
func (f *PullFailure) delay() time.Duration {
	delay := firstPullDelay
	for n := 1; n < f.Attempts && delay < maxPullDelay; n++ {
		delay *= 2
	}
	return min(delay, maxPullDelay)
}

// pullAgain starts a container whose image could not be pulled, immediately if the pod now names another image, and
// otherwise after a delay.
func (p *plan) pullAgain(now time.Time, c *corev1.Container, f *PullFailure) {
	age := now.Sub(f.At)
	if f.Image != c.Image || age >= f.delay() {
		p.Start = append(p.Start, c.Name)
		return
	}
	p.scheduleAfter(f.delay() - age)
	p.scheduleAfter(failureShown - age)
}

// waitingForImage returns the state of a container whose image could not be pulled.
func waitingForImage(f *PullFailure, now time.Time) *corev1.ContainerStateWaiting {
	if f.Never {
		return &corev1.ContainerStateWaiting{Reason: errImageNeverPull, Message: f.Message}
	}
	if now.Sub(f.At) < failureShown {
		return &corev1.ContainerStateWaiting{Reason: errImagePull, Message: f.Message}
	}
	return &corev1.ContainerStateWaiting{
		Reason:  imagePullBackOff,
		Message: fmt.Sprintf("Back-off pulling image %q: %s: %s", f.Image, errImagePull, f.Message),
	}
}

// recordPullFailure records the events of a container that has begun to wait for its image in another state. pulling
// reports whether the event of the attempt is recorded already.
func (a *agent) recordPullFailure(pod *corev1.Pod, f *PullFailure, state *corev1.ContainerStateWaiting, pulling bool) {
	switch state.Reason {
	case errImagePull:
		if !pulling {
			a.events.Normal(pod, "Pulling", "Pulling image %q", f.Image)
		}
		a.events.Warning(pod, "Failed", "Failed to pull image %q: %s", f.Image, f.Message)
	case errImageNeverPull:
		a.events.Warning(pod, errImageNeverPull, "%s", f.Message)
	case imagePullBackOff:
		a.events.Normal(pod, "BackOff", "Back-off pulling image %q", f.Image)
	}
	a.events.Warning(pod, "Failed", "Error: %s", state.Reason)
}
