package job

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
)

func TestBackoffDoublesUpToTenMinutes(t *testing.T) {
	t.Parallel()
	for failures, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second,
		80 * time.Second, 160 * time.Second,
		320 * time.Second, 10 * time.Minute, 10 * time.Minute} {
		if got := remainingDelay(failures, noon, noon); got != want {
			t.Errorf("after %d failures: got %s, want %s", failures, got, want)
		}
	}
	if got := remainingDelay(1000, noon, noon.Add(9*time.Minute)); got != time.Minute {
		t.Errorf("a minute before the end: got %s, want 1m", got)
	}
}

// Failures count from the last success on.
func TestSuccessResetsTheBackoff(t *testing.T) {
	t.Parallel()
	j := aJob(3)
	failed, succeeded := podOf(j, 1, corev1.PodFailed), podOf(j, 2, corev1.PodSucceeded)
	ended := func(pod *corev1.Pod, at time.Time) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at)},
		}}}
	}
	now := noon.Add(time.Hour)
	ended(failed, now.Add(-2*time.Second))
	ended(succeeded, now.Add(-3*time.Second))
	if d := decided(j, failed, succeeded); d.requeue != 8*time.Second || len(d.Apply) != 0 {
		t.Errorf("failure after the success: got requeue after %s, actions %q; want 8s, none", d.requeue, text(d.Apply))
	}
	ended(succeeded, now.Add(-time.Second))
	if d := decided(j, failed, succeeded); d.requeue != 0 || d.created != 2 {
		t.Errorf("success after the failure: got requeue after %s, actions %q; want none, 2 pods", d.requeue,
			text(d.Apply))
	}
}

// Failures count after their pods are deleted, except for pods that the job itself deleted.
func TestBackoffOutlivesDeletedPods(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	failed := podOf(j, 1, corev1.PodFailed)
	failed.Finalizers, failed.CreationTimestamp = nil, metav1.NewTime(noon.Add(time.Hour))
	past := decided(j, failed).outcomes()
	d := Decide(Input{
		Job: j, Selector: labels.SelectorFromSet(labels.Set{"app": "work"}), Past: past,
		Now: noon.Add(time.Hour + time.Second), Backoff: podbackoff.New(),
		Usage:     func() podlimit.Usage { return podlimit.Usage{} },
		NameTaken: func(string) bool { return false },
	})
	if d.requeue != 9*time.Second {
		t.Errorf("deleted failed pod: got requeue after %s, want 9s", d.requeue)
	}
	failed.DeletionTimestamp = &failed.CreationTimestamp
	if d := decided(j, failed); d.requeue != 0 || len(d.outcomes().Failed) != 0 {
		t.Errorf("pod deleted by the job: got requeue after %s, outcomes %v; want none", d.requeue, d.outcomes())
	}
	var many []*corev1.Pod
	for n := range 1000 {
		many = append(many, podOf(j, n, corev1.PodFailed))
	}
	if n := len(decided(j, many...).outcomes().Failed); n != maxFailures {
		t.Errorf("got %d recorded failures, want %d", n, maxFailures)
	}
}
