package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestFailedPullsAreRepeatedAfterADelay(t *testing.T) {
	t.Parallel()
	const backOff = `ImagePullBackOff Back-off pulling image "web:1": ErrImagePull: not found`
	for _, c := range []struct {
		attempts int
		never    bool
		image    string // of the pod
		age      time.Duration
		start    string
		again    time.Duration
		waiting  string
	}{
		{1, false, "web:1", 0, "", time.Second, "ErrImagePull not found"},
		{1, false, "web:1", time.Second, "", 9 * time.Second, backOff},
		{1, false, "web:1", 10 * time.Second, "a", 0, backOff},
		{2, false, "web:1", 10 * time.Second, "", 10 * time.Second, backOff},
		{3, false, "web:1", 39 * time.Second, "", time.Second, backOff},
		{5, false, "web:1", 160 * time.Second, "a", 0, backOff},
		{6, false, "web:1", 299 * time.Second, "", time.Second, backOff},
		{1 << 30, false, "web:1", 5 * time.Minute, "a", 0, backOff},
		{6, false, "web:2", 0, "a", 0, "ErrImagePull not found"},
		{1, true, "web:1", 2 * time.Second, "", 8 * time.Second, "ErrImageNeverPull not found"},
	} {
		s := podIn(corev1.RestartPolicyNever, "a", "")
		s.Pod.Spec.Containers[0].Image = c.image
		s.Containers["a"] = Container{PullFailure: &PullFailure{
			Image: "web:1", At: noon.Add(-c.age), Attempts: c.attempts, Never: c.never, Message: "not found",
		}}
		p := decide(s)
		status := newStatus(s, p)
		waiting := status.ContainerStatuses[0].State.Waiting
		got := fmt.Sprint(waiting.Reason, " ", waiting.Message)
		if start := strings.Join(p.Start, " "); start != c.start || p.Again != c.again || got != c.waiting ||
			status.Phase != corev1.PodPending {
			t.Errorf("%d attempts, %s ago: starts %q, looks again in %s, %s, %s; want %q, %s, %s, Pending", c.attempts,
				c.age, start, p.Again, got, status.Phase, c.start, c.again, c.waiting)
		}
	}
}

// A pod that waits for an image can be deleted at once.
func TestPodsThatWaitForAnImageEnd(t *testing.T) {
	t.Parallel()
	s := podIn(corev1.RestartPolicyAlways, "a", "")
	s.Containers["a"] = Container{PullFailure: &PullFailure{At: noon, Attempts: 1}}
	s.Final = corev1.PodFailed
	p := decide(s)
	status := newStatus(s, p)
	ended := status.ContainerStatuses[0].State.Terminated
	if !p.Ended || len(p.Start) > 0 || status.Phase != corev1.PodFailed || ended == nil || ended.ExitCode != 137 ||
		ended.Reason != "ContainerStatusUnknown" || status.ContainerStatuses[0].State.Waiting != nil {
		t.Errorf("ended %t, starts %v, status %+v", p.Ended, p.Start, status)
	}
}
