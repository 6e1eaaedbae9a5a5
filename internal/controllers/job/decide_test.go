package job

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// aJob returns a started job with the given completions and parallelism, with defaults applied.
func aJob(completions int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default", UID: "job",
			CreationTimestamp: metav1.NewTime(noon)},
		Spec: batchv1.JobSpec{
			Completions: &completions, Parallelism: &completions, BackoffLimit: ptr.To[int32](6),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "work"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "work"}}},
		},
		Status: batchv1.JobStatus{StartTime: ptr.To(metav1.NewTime(noon))},
	}
}

// podOf returns the n-th pod of a job, in a phase, with the tracking finalizer.
func podOf(j *batchv1.Job, n int, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("work-%04d", n), Namespace: "default", UID: types.UID(fmt.Sprintf("pod-%d", n)),
			Labels: map[string]string{"app": "work"}, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(j, kind)},
			CreationTimestamp: metav1.NewTime(noon),
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func decided(j *batchv1.Job, pods ...*corev1.Pod) *Decision {
	return Decide(Input{
		Job: j, Selector: labels.SelectorFromSet(labels.Set{"app": "work"}), Pods: pods, Now: noon.Add(time.Hour),
		Backoff:   podbackoff.New(),
		Usage:     func() podlimit.Usage { return podlimit.Count(noon.Add(time.Hour), slices.Values(pods)) },
		NameTaken: func(string) bool { return false },
	})
}

func text(actions []action.Action) string {
	var lines []string
	for _, a := range actions {
		lines = append(lines, a.String())
	}
	return strings.Join(lines, "; ")
}

// Before pods are counted, and before pods that the cache no longer shows leave the list, the server is
// asked.
func TestCountsAreVerifiedWithTheServer(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	d := decided(j, podOf(j, 1, corev1.PodSucceeded))
	if got := text(d.Claim); got != "check that 1 pods exist, 1 of them unchanged, and that 0 do not exist" {
		t.Errorf("succeeded pod: got claim %q", got)
	}
	if got := text(d.Report(nil)); got != "update status job/work; release pod/work-0001" {
		t.Errorf("succeeded pod: got report %q", got)
	}
	if d.status.Succeeded != 0 || len(d.status.UncountedTerminatedPods.Succeeded) != 1 ||
		HasEnded(&batchv1.Job{Status: d.status}) != "" {
		t.Errorf("succeeded pod: got status %+v, want it uncounted and the job running", d.status)
	}
	j.Status = d.status
	d = decided(j)
	if got := text(d.Claim); got != "check that 0 pods exist, 0 of them unchanged, and that 1 do not exist" {
		t.Errorf("deleted uncounted pod: got claim %q", got)
	}
	d.Report(nil)
	if d.status.Succeeded != 1 || HasEnded(&batchv1.Job{Status: d.status}) != batchv1.JobComplete {
		t.Errorf("deleted uncounted pod: got status %+v, want 1 succeeded and the job complete", d.status)
	}
}

// The number of pods to create depends on all existing pods, and so does whether the job may end.
func TestUnobservedPodsAreDetected(t *testing.T) {
	t.Parallel()
	j := aJob(2)
	j.Status = batchv1.JobStatus{}
	if d := decided(j); len(d.Claim) != 0 || d.created != 2 {
		t.Errorf("first pods: got claim %q, %d created; want no claim, 2 created", text(d.Claim), d.created)
	}
	j = aJob(2)
	if d := decided(j, podOf(j, 1, corev1.PodRunning)); d.created != 1 ||
		text(d.Claim) != "check that 1 pods exist, 0 of them unchanged, and that 0 do not exist" {
		t.Errorf("second pod: got claim %q, %d created; want a check, 1 created", text(d.Claim), d.created)
	}
	j.Spec.BackoffLimit = new(int32)
	d := decided(j, podOf(j, 1, corev1.PodRunning), podOf(j, 2, corev1.PodFailed))
	if text(d.Claim) != "check that 2 pods exist, 2 of them unchanged, and that 0 do not exist" ||
		len(d.deleted) != 1 {
		t.Errorf("end of the job: got claim %q, %d deleted; want a check, 1 deleted", text(d.Claim), len(d.deleted))
	}
}

// A thousand pods are counted in parts, which bounds the list in the status. The job ends when all are
// counted.
func TestManyPodsAreCountedInParts(t *testing.T) {
	t.Parallel()
	j := aJob(1000)
	var all []*corev1.Pod
	for n := range 1000 {
		all = append(all, podOf(j, n, corev1.PodSucceeded))
	}
	d := decided(j, all...)
	release := d.Report(nil)
	if n := len(d.status.UncountedTerminatedPods.Succeeded); n != maxPodsPerRun ||
		HasEnded(&batchv1.Job{Status: d.status}) != "" {
		t.Errorf("first part: got %d uncounted pods, report %s; want %d and the job running", n, text(release),
			maxPodsPerRun)
	}
	for _, pod := range all[:maxPodsPerRun] {
		pod.Finalizers = nil
	}
	j.Status = d.status
	d = decided(j, all...)
	d.Report(nil)
	if n := len(d.status.UncountedTerminatedPods.Succeeded); n != maxPodsPerRun || d.status.Succeeded != maxPodsPerRun {
		t.Errorf("second part: got %d counted and %d uncounted pods, want %d each", d.status.Succeeded, n,
			maxPodsPerRun)
	}
}

func TestIndexedPodNamesAreTruncated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"work": "work-7-",
		strings.Repeat("a", 63): strings.Repeat("a", 55) + "-7-"} {
		if got := indexPrefix(name, 7); got != want {
			t.Errorf("job %s: got prefix %s, want %s", name, got, want)
		}
	}
}

// Pods of duplicate and of invalid indexes are deleted.
func TestDuplicateIndexesAreDeleted(t *testing.T) {
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
		t.Errorf("got deletions of %v, want 3 without work-0003", names)
	}
}

func TestContainerRestartsCountAsFailures(t *testing.T) {
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
			t.Errorf("%d restarts, limit %d: got end %v, want an end: %t", c.restarts, c.limit, d.end, c.ends)
		}
	}
}

// A job that ends deletes its pods in parts too, and has not ended before all are gone.
func TestManyPodsAreStoppedInParts(t *testing.T) {
	t.Parallel()
	j := aJob(1200)
	j.Spec.ActiveDeadlineSeconds = ptr.To[int64](60)
	var all []*corev1.Pod
	for n := range 1200 {
		all = append(all, podOf(j, n, corev1.PodRunning))
	}
	d := decided(j, all...)
	release := d.Report(nil)
	uncounted := len(d.status.UncountedTerminatedPods.Failed)
	if len(d.deleted) != maxPodsPerRun || len(d.releasing) != maxPodsPerRun || d.status.Active != 1200-maxPodsPerRun ||
		uncounted != maxPodsPerRun {
		t.Errorf("first part: got %d deleted, %d released, %d active pods: %s", len(d.deleted), len(d.releasing),
			d.status.Active,
			text(release))
	}
	j.Status = d.status
	if d = decided(j, all[maxPodsPerRun:maxPodsPerRun+1]...); len(d.deleted) != 1 {
		t.Errorf("next pod: got %d deleted, want 1", len(d.deleted))
	}
	j.Status.UncountedTerminatedPods = nil
	for n, pod := range all {
		pod.Finalizers = nil
		if n > 0 {
			pod.Status.Phase = corev1.PodFailed
		}
	}
	d = decided(j, all[:1]...)
	if d.Report(errors.New("a pod was not deleted")); HasEnded(&batchv1.Job{Status: d.status}) != "" {
		t.Errorf("with an active pod: got status %+v, want the job running", d.status)
	}
}

// The newest pods are deleted first, whatever their deletion cost.
func TestNewestPodsAreDeletedFirst(t *testing.T) {
	t.Parallel()
	j := aJob(3)
	j.Spec.Parallelism = ptr.To[int32](1)
	var all []*corev1.Pod
	for n, ago := range []time.Duration{100, 120, 110} {
		pod := podOf(j, n, corev1.PodRunning)
		since := metav1.NewTime(noon.Add(time.Hour - ago*time.Second))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: since}}
		pod.Annotations = map[string]string{corev1.PodDeletionCost: fmt.Sprint(-n)}
		all = append(all, pod)
	}
	if d := decided(j, all...); len(d.deleted) != 2 || d.deleted[all[1].UID] != nil {
		t.Errorf("got deletions %v, want all pods but the oldest, %s", d.deleted, all[1].Name)
	}
}

// The names of pods being released are not reused.
func TestNamesOfReleasedPodsAreNotReused(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	first := decided(j)
	name := first.newName(t)
	gone := podOf(j, 1, corev1.PodRunning)
	gone.Name, gone.Labels = name, nil
	if next := decided(j, gone); next.newName(t) == name {
		t.Errorf("got a second pod %s, want another name", name)
	}
}

// newName returns the name of the pod that is created.
func (d *Decision) newName(t *testing.T) string {
	t.Helper()
	_, name, created := strings.Cut(text(d.Apply), "create pod/")
	if !created {
		t.Fatalf("got actions %q, want the creation of a pod", text(d.Apply))
	}
	return name
}

// A failure to create pods does not prevent the job from resuming.
func TestResumeDespiteFailedPodCreation(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	j.Status = batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended,
		Status: corev1.ConditionTrue}}}
	d := decided(j)
	d.Report(errors.New("quota exceeded"))
	if c := find(d.status.Conditions, batchv1.JobSuspended); c.Status != corev1.ConditionFalse ||
		d.status.StartTime == nil {
		t.Errorf("got status %+v, want the job resumed with a start time", d.status)
	}
}

func TestHugeDeadlineDoesNotOverflow(t *testing.T) {
	t.Parallel()
	j := aJob(1)
	j.Spec.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt64)
	if d := decided(j, podOf(j, 1, corev1.PodRunning)); d.end != nil {
		t.Errorf("got end %+v, want none", d.end)
	}
}
