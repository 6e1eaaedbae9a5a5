package job

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// tally classifies the pods of a job, and counts those that have succeeded and failed, now or in the past.
type tally struct {
	spec jobSpec
	// pods are the job's pods; active are those that neither ended nor are being deleted.
	pods, active []*corev1.Pod
	// terminating are being deleted and have not ended.
	terminating []*corev1.Pod
	// listed are the pods in status.uncountedTerminatedPods.
	listed map[types.UID]bool
	// succeeded and failures include pods that are not counted in the status yet.
	succeeded, failures int
	// completed are the indexes that have succeeded, failed those that have failed permanently.
	completed, failed indexes
	// completedInStatus are the completed indexes according to the status.
	completedInStatus indexes
	// delayed holds, by index, the failed pod that has not been replaced yet.
	delayed map[int]*corev1.Pod
}

// newTally classifies the pods that a job owns. It sorts them.
func newTally(spec jobSpec, status *batchv1.JobStatus, owned []*corev1.Pod) *tally {
	uncounted := status.UncountedTerminatedPods
	t := &tally{
		spec: spec, pods: owned, listed: map[types.UID]bool{},
		succeeded: int(status.Succeeded) + len(uncounted.Succeeded),
		failures:  int(status.Failed) + len(uncounted.Failed),
	}
	slices.SortFunc(owned, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, uid := range slices.Concat(uncounted.Succeeded, uncounted.Failed) {
		t.listed[uid] = true
	}
	for _, pod := range owned {
		switch {
		case pods.IsActive(pod) && t.listed[pod.UID]: // it has ended, but the cache does not show that yet
		case pods.IsActive(pod):
			t.active = append(t.active, pod)
		case !pods.IsTerminal(pod):
			t.terminating = append(t.terminating, pod)
		}
		switch {
		case !isTracked(pod) || t.listed[pod.UID] || !t.spec.inRange(pod):
		case pod.Status.Phase == corev1.PodSucceeded:
			t.succeeded++
		case t.spec.failed(pod) && judge(t.spec.PodFailurePolicy, pod).counts():
			t.failures++
		}
	}
	if t.spec.indexed() {
		t.classifyIndexes(status)
	}
	return t
}

// enough reports whether enough pods have succeeded. Without completions, one success is enough.
func (t *tally) enough() bool {
	if t.spec.Completions != nil {
		return t.succeeded >= t.spec.completions()
	}
	return t.succeeded > 0
}

// wanted returns how many pods should be active, limited by the remaining work. If the job does not set
// completions, the first success completes the work; the other pods then run to their end.
func (t *tally) wanted() int {
	parallel := int(ptr.Deref(t.spec.Parallelism, 1))
	switch {
	case t.spec.Completions != nil:
		return max(0, min(parallel, t.spec.completions()-t.succeeded))
	case t.succeeded > 0:
		return len(t.active)
	}
	return parallel
}

// surplus returns the excess pods, at least the given number.
func (t *tally) surplus(minimum int) (surplus []*corev1.Pod) {
	rest := slices.Clone(t.active)
	if t.spec.indexed() {
		surplus, rest = t.splitDuplicates()
	}
	if more := minimum - len(surplus); more > 0 {
		pods.SortByProgress(rest)
		surplus = append(surplus, rest[:more]...)
	}
	return surplus
}

// restartedTooOften reports whether container restarts by the node reached the backoff limit; they count like
// failed pods.
func (t *tally) restartedTooOften() bool {
	if t.spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int64(0)
	for _, pod := range t.pods {
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, c := range pod.Status.InitContainerStatuses {
			restarts += int64(c.RestartCount)
		}
		for _, c := range pod.Status.ContainerStatuses {
			restarts += int64(c.RestartCount)
		}
	}
	return restarts > 0 && restarts >= int64(*t.spec.BackoffLimit)
}
