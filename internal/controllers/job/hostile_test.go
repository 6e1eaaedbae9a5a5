package job

import (
	"math"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
)

var (
	longAgo   = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	farFuture = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// A decision takes as many steps as there are pods, whatever numbers the spec and the status contain.
func TestHostileNumbersOfIndexes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		completed, failed string
		created           int
	}{
		{"0-2147483646", "", 0},
		{"0-9223372036854775807", "", 0},
		{"0-99999999999999999999", "", 2},
		{"5-3,2147483646-0", "", 2},
		{strings.Repeat("7-0,", 1000), "", 2},
		{"", "0-2147483645", 1},
		{"-1--5,0x7,1e9,٣", "-", 2},
	} {
		j := aJob(math.MaxInt32)
		j.Spec.CompletionMode, j.Spec.Parallelism = ptr.To(batchv1.IndexedCompletion), ptr.To[int32](2)
		j.Spec.BackoffLimitPerIndex = ptr.To[int32](math.MaxInt32)
		j.Status.CompletedIndexes, j.Status.FailedIndexes = c.completed, &c.failed
		if d := decided(j); d.created != c.created {
			t.Errorf("completed %.30q, failed %q: got %d pods created, want %d", c.completed, c.failed, d.created, c.created)
		}
	}
}

// Counts stay at the largest number that the API can represent.
func TestCountsOfTheStatusDoNotWrapAround(t *testing.T) {
	t.Parallel()
	j := aJob(math.MaxInt32)
	j.Spec.BackoffLimit, j.Status.Failed = ptr.To[int32](math.MaxInt32), math.MaxInt32
	j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"gone", "away"}}
	d := decided(j)
	if d.Report(nil); d.status.Failed != math.MaxInt32 {
		t.Errorf("got %d failed pods, want %d", d.status.Failed, math.MaxInt32)
	}
	pod := podOf(j, 1, corev1.PodRunning)
	for range 2 {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{RestartCount: math.MaxInt32})
	}
	j = aJob(1)
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	if d := decided(j, pod); d.end == nil || d.end.Reason != batchv1.JobReasonBackoffLimitExceeded {
		t.Errorf("2^32 restarts: got end %v, want BackoffLimitExceeded", d.end)
	}
}

func TestDeadlineWithExtremeTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		start   time.Time
		seconds int64
		ends    bool
	}{
		{longAgo, 1, true}, {longAgo, math.MaxInt64, true}, {noon, math.MaxInt64, false}, {farFuture, 1, false},
		{farFuture, math.MaxInt64, false}, {noon, -1, true},
	} {
		j := aJob(1)
		j.Spec.ActiveDeadlineSeconds, j.Status.StartTime = &c.seconds, ptr.To(metav1.NewTime(c.start))
		d := decided(j, podOf(j, 1, corev1.PodRunning))
		if ends := d.end != nil; ends != c.ends || !ends && d.requeue < time.Hour {
			t.Errorf("%d s from %s: got end %v, requeue after %s; want an end: %t", c.seconds, c.start, d.end, d.requeue,
				c.ends)
		}
	}
}

// The end that a pod reports does not shorten or lengthen the delay before its replacement.
func TestBackoffWithExtremeTimes(t *testing.T) {
	t.Parallel()
	for end, want := range map[time.Time]time.Duration{longAgo: 0, farFuture: firstDelay} {
		j := aJob(1)
		pod := podOf(j, 1, corev1.PodFailed)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(end)},
		}}}
		if d := decided(j, pod); d.requeue != want {
			t.Errorf("pod that ended at %s: got a delay of %s, want %s", end, d.requeue, want)
		}
	}
	pod := podOf(aJob(1), 1, corev1.PodRunning)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon)), ptr.To[int64](math.MaxInt64)
	if got := endedAt(pod); !got.Before(noon) {
		t.Errorf("pod with the longest grace period: got end %s, want a time before %s", got, noon)
	}
}

// The largest job with as many pods as one owner may have gets no more, and says why. One that has ended does not.
func TestLargestJobAtTheLimit(t *testing.T) {
	t.Parallel()
	j := aJob(math.MaxInt32)
	var pods []*corev1.Pod
	for i := range podlimit.MaxPods {
		pods = append(pods, podOf(j, i, corev1.PodRunning))
	}
	d := decided(j, pods...)
	report := text(d.Report(nil))
	c := find(d.status.Conditions, podlimit.ConditionType)
	if d.created != 0 || c == nil || c.Reason != podlimit.Reason || !strings.Contains(c.Message, "at most 20000 pods") ||
		!strings.Contains(report, "event FailedCreate on work: Error creating: at most 20000 pods") {
		t.Errorf("got %d pods created, condition %v, actions %q; want none, the limit and an event", d.created, c, report)
	}
	j.Status = d.status
	d = decided(j, pods...)
	if report := text(d.Report(nil)); strings.Contains(report, "event") {
		t.Errorf("got actions %q, want no further event", report)
	}
	pods[0].Status.Phase = corev1.PodSucceeded
	if d = decided(j, pods...); d.created != 1 {
		t.Errorf("after the end of a pod: got %d pods created, want 1", d.created)
	}
	j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	d = decided(j, pods...)
	if d.Report(nil); d.end == nil || find(d.status.Conditions, podlimit.ConditionType) != nil {
		t.Errorf("after its deadline: got conditions %v, want no limit", d.status.Conditions)
	}
}
