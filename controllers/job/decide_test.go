package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controllers/action"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// aJob is one of so many completions, as many at a time, with what a server gives it.
func aJob(completions int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default", UID: "job", CreationTimestamp: metav1.NewTime(noon)},
		Spec: batchv1.JobSpec{
			Completions: &completions, Parallelism: &completions, BackoffLimit: ptr.To[int32](6),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "work"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "work"}}},
		},
		Status: batchv1.JobStatus{StartTime: ptr.To(metav1.NewTime(noon))},
	}
}

// podOf is the n-th pod of a job, in a phase, which waits to be counted.
func podOf(j *batchv1.Job, n int, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("work-%04d", n), Namespace: "default", UID: types.UID(fmt.Sprintf("pod-%d", n)),
			Labels: map[string]string{"app": "work"}, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, kind)}, CreationTimestamp: metav1.NewTime(noon),
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func decided(j *batchv1.Job, pods ...*corev1.Pod) *Decision {
	return Decide(Seen{
		Job: j, Selector: labels.SelectorFromSet(labels.Set{"app": "work"}), Pods: pods, Now: noon.Add(time.Hour),
		Taken: func(string) bool { return false },
	})
}

func text(actions []action.Action) string {
	var lines []string
	for _, a := range actions {
		lines = append(lines, a.String())
	}
	return strings.Join(lines, "; ")
}

// What is not counted yet is looked up before it is, and what the cache does not show any more before its place in the list goes.
func TestTheServerIsAskedBeforeAnythingIsCounted(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	const job, pods, gone = "make sure that 1 jobs are as they were seen", "make sure that 1 pods are as they were seen", "make sure that 1 pods are gone"
	d := decided(j, podOf(j, 1, corev1.PodSucceeded))
	if got := text(d.Claim); got != job+"; "+pods {
		t.Errorf("before a pod is counted: %s", got)
	}
	if got := text(d.Report(nil)); got != "update status job/work; release pod/work-0001" {
		t.Errorf("a pod that is counted: %s", got)
	}
	if d.status.Succeeded != 0 || len(d.status.UncountedTerminatedPods.Succeeded) != 1 || HasEnded(&batchv1.Job{Status: d.status}) != "" {
		t.Errorf("the status while it is counted: %+v", d.status)
	}
	j.Status = d.status
	d = decided(j)
	if got := text(d.Claim); got != job+"; "+gone {
		t.Errorf("before one that is gone is counted: %s", got)
	}
	d.Report(nil)
	if d.status.Succeeded != 1 || HasEnded(&batchv1.Job{Status: d.status}) != batchv1.JobComplete {
		t.Errorf("the status once it is counted: %+v", d.status)
	}
}

// A thousand pods are counted in parts, so that the list does not get too long, and the job ends when all are.
func TestManyPodsAreCountedInParts(t *testing.T) {
	t.Parallel()
	j := aJob(1000)
	var all []*corev1.Pod
	for n := range 1000 {
		all = append(all, podOf(j, n, corev1.PodSucceeded))
	}
	d := decided(j, all...)
	release := d.Report(nil)
	if n := len(d.status.UncountedTerminatedPods.Succeeded); n != most || HasEnded(&batchv1.Job{Status: d.status}) != "" {
		t.Errorf("%d at a time: %s", n, text(release))
	}
	for _, pod := range all[:most] {
		pod.Finalizers = nil
	}
	j.Status = d.status
	d = decided(j, all...)
	d.Report(nil)
	if n := len(d.status.UncountedTerminatedPods.Succeeded); n != most || d.status.Succeeded != most {
		t.Errorf("%d counted, %d next", d.status.Succeeded, n)
	}
}

func TestAPauseIsTwiceTheOneBeforeItUpToTenMinutes(t *testing.T) {
	t.Parallel()
	for failures, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second,
		320 * time.Second, 10 * time.Minute, 10 * time.Minute} {
		if got := pause(failures, noon, noon); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	if got := pause(1000, noon, noon.Add(9*time.Minute)); got != time.Minute {
		t.Errorf("a minute before the end: %s", got)
	}
}

// Failures count from the last success on.
func TestASuccessEndsThePauses(t *testing.T) {
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
	if d := decided(j, failed, succeeded); d.again != 8*time.Second || len(d.Keep) != 0 {
		t.Errorf("a failure after the success: again in %s, %s", d.again, text(d.Keep))
	}
	ended(succeeded, now.Add(-time.Second))
	if d := decided(j, failed, succeeded); d.again != 0 || d.created != 2 {
		t.Errorf("a success after the failure: again in %s, %s", d.again, text(d.Keep))
	}
}

func TestNamesOfIndexedPodsFitTheirBounds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"work": "work-7-", strings.Repeat("a", 63): strings.Repeat("a", 55) + "-7-"} {
		if got := indexPrefix(name, 7); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// One job cannot pull two of the same index, and none without one.
func TestSurplusPodsOfAnIndexGoFirst(t *testing.T) {
	t.Parallel()
	j := aJob(2)
	j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	of := func(n int, index string) *corev1.Pod {
		pod := podOf(j, n, corev1.PodRunning)
		if index != "" {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		}
		return pod
	}
	d := decided(j, of(1, "0"), of(2, "0"), of(3, "1"), of(4, ""), of(5, "7"))
	var names []string
	for _, pod := range d.deleted {
		names = append(names, pod.Name)
	}
	if len(names) != 3 || strings.Contains(strings.Join(names, " "), "work-0003") {
		t.Errorf("%v are deleted", names)
	}
}

func TestContainersThatAreRestartedCountAsPodsDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, restarts int32
		ends            bool
	}{{0, 0, false}, {0, 1, true}, {3, 2, false}, {3, 3, true}} {
		j := aJob(1)
		j.Spec.BackoffLimit = &c.limit
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pod := podOf(j, 1, corev1.PodRunning)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: c.restarts}}
		if d := decided(j, pod); (d.end != nil) != c.ends {
			t.Errorf("%d restarts of %d: %v", c.restarts, c.limit, d.end)
		}
	}
}
