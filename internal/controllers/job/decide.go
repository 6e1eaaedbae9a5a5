package job

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Input is the input of a decision.
type Input struct {
	Job      *batchv1.Job
	Selector labels.Selector
	// Pods are the pods in the job's namespace that the job or no one controls, including those that have
	// ended or are being deleted.
	Pods []*corev1.Pod
	// NameTaken reports whether a pod that is not the job's has the name.
	Taken func(name string) bool
	// Outcomes is the outcome of pods that may have been deleted.
	Past Outcomes
	// Pauses space out the replacements of pods that are taken from the job.
	Pauses *podbackoff.Tracker
	Now    time.Time
}

// Decision is what to do about a job, in three steps. The executor stops if Claim fails or if Keep returns
// action.ErrStaleCache; after any other error from Keep it still executes Report.
type Decision struct {
	Input
	// Claim adopts and releases pods, and verifies with the server what the decision is based on.
	Claim []action.Action
	// Keep creates and deletes pods, provided that the job has not changed.
	Keep []action.Action

	spec     *batchv1.JobSpec
	status   batchv1.JobStatus // the new status of the job
	requeue  time.Duration     // delay until the next reconcile; 0 for none
	adopts   bool              // pods have to be adopted first
	lostPods bool              // pods were taken from the job right after their creation

	// pods are the job's pods; active are those that neither ended nor are being deleted.
	pods, active []*corev1.Pod
	names        map[string]bool // names of Pods; built on first use
	// terminating are being deleted and have not ended.
	terminating []*corev1.Pod
	// listed are the pods in status.uncountedTerminatedPods.
	listed map[types.UID]bool
	// succeeded and failures include pods that are not counted in the status yet.
	succeeded, failures int
	// done are the indexes that have succeeded, lost those that have failed for good.
	done, lost indexes
	// before is done according to the status.
	before indexes
	// delayed holds, by index, the failed pod that has not been replaced yet.
	delayed map[int]*corev1.Pod

	// end is why the job ends; nil while it runs.
	end *batchv1.JobCondition
	// deleted are the pods that Keep deletes; created is the number that it creates.
	deleted map[types.UID]*corev1.Pod
	created int
	// releasing are the pods whose finalizer is removed in this run, listed ones first; more reports that
	// others remain for the next run.
	releasing []*corev1.Pod
	more      bool
}

// Decide computes the next steps for a running job. The job must not have ended, and must not be managed by
// another controller (spec.managedBy).
func Decide(s Input) *Decision {
	d := &Decision{Input: s, spec: &s.Job.Spec, status: *s.Job.Status.DeepCopy()}
	owner := ownership.Owner{Object: s.Job, Kind: kind, Resource: resource, Selector: s.Selector,
		Finalizer: batchv1.JobTrackingFinalizer}
	claims := ownership.Claim(owner, s.Pods)
	d.Claim = d.claim(owner, claims)
	if d.adopts = len(claims.Adopted) > 0; d.adopts {
		return d // they are counted once they are the job's
	}
	d.classify(claims.Owned)
	d.end = d.ending()
	switch {
	case d.end != nil:
		d.deleteActive()
	case s.Job.DeletionTimestamp == nil:
		d.scale()
	}
	d.selectReleases()
	d.verify()
	return d
}

// classify classifies the pods and adds uncounted ones to the totals.
func (d *Decision) classify(owned []*corev1.Pod) {
	slices.SortFunc(owned, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a.Name, b.Name))
	})
	d.pods, d.listed = owned, map[types.UID]bool{}
	if d.status.UncountedTerminatedPods == nil {
		d.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	uncounted := d.status.UncountedTerminatedPods
	for _, uid := range slices.Concat(uncounted.Succeeded, uncounted.Failed) {
		d.listed[uid] = true
	}
	d.succeeded = int(d.status.Succeeded) + len(uncounted.Succeeded)
	d.failures = int(d.status.Failed) + len(uncounted.Failed)
	for _, pod := range owned {
		switch {
		case pods.IsActive(pod) && d.listed[pod.UID]: // it has ended, but the cache does not show that yet
		case pods.IsActive(pod):
			d.active = append(d.active, pod)
		case !pods.IsTerminal(pod):
			d.terminating = append(d.terminating, pod)
		}
		switch {
		case !isTracked(pod) || d.listed[pod.UID] || !d.inRange(pod):
		case pod.Status.Phase == corev1.PodSucceeded:
			d.succeeded++
		case d.failed(pod) && judge(d.spec.PodFailurePolicy, pod).counts():
			d.failures++
		}
	}
	if d.indexed() {
		d.classifyIndexes()
	}
}

// selectReleases selects the pods whose finalizer is removed in this run, limited to what the status may list.
func (d *Decision) selectReleases() {
	for _, listed := range []bool{true, false} {
		for _, pod := range d.pods {
			if d.listed[pod.UID] != listed || !isTracked(pod) || !d.mayRelease(pod) {
				continue
			}
			if d.more = len(d.releasing) >= maxPodsPerRun; d.more {
				return
			}
			d.releasing = append(d.releasing, pod)
		}
	}
}

// verify adds to Claim a check that the server has the pods that the decision is based on. A stale cache
// shows pods as uncounted that were counted long ago, and misses pods that were just created. The first pods
// of a job need no check: their names are deterministic, so creating one twice fails.
func (d *Decision) verify() {
	sure := verifiedPods{job: d.Job, selector: d.Selector, pods: d.pods, gone: maps.Clone(d.listed)}
	for _, pod := range d.pods {
		delete(sure.gone, pod.UID)
		if d.deleted[pod.UID] != nil {
			sure.exact = append(sure.exact, pod)
		}
	}
	for _, pod := range d.releasing {
		if !d.listed[pod.UID] && d.deleted[pod.UID] == nil {
			sure.exact = append(sure.exact, pod)
		}
	}
	first := len(d.pods) == 0 && equality.Semantic.DeepEqual(d.Job.Status, batchv1.JobStatus{})
	if len(sure.exact)+len(sure.gone) > 0 || d.end != nil || d.enough() || len(d.Keep) > 0 && !first {
		d.Claim = append(d.Claim, sure)
	}
	if len(d.Keep) > 0 {
		asked := action.Unchanged[*batchv1.Job]{Resource: resource, Objects: []*batchv1.Job{d.Job}}
		d.Keep = []action.Action{action.Guard{Preconditions: []action.Precondition{asked}, Then: d.Keep}}
	}
}

// isTracked reports whether a pod has the tracking finalizer, and so waits to be counted.
func isTracked(pod client.Object) bool {
	return slices.Contains(pod.GetFinalizers(), batchv1.JobTrackingFinalizer)
}

// failed reports whether a pod counts as failed. A pod that is deleted before it ends counts as well, unless
// the job waits for pods to end.
func (d *Decision) failed(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !d.replacesOnlyEnded() && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// replacesOnlyEnded reports whether a pod is replaced only after it has ended, not already when it is being
// deleted.
func (d *Decision) replacesOnlyEnded() bool {
	return d.spec.PodFailurePolicy != nil || ptr.Deref(d.spec.PodReplacementPolicy, "") == batchv1.Failed
}

func (d *Decision) indexed() bool {
	return ptr.Deref(d.spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func (d *Decision) suspended() bool { return ptr.Deref(d.spec.Suspend, false) }

func (d *Decision) completions() int { return int(ptr.Deref(d.spec.Completions, 0)) }

// noIndex is the index of a pod without one.
const noIndex = -1

// index returns the completion index of a pod.
func index(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return noIndex
	}
	return n
}

// inRange reports whether a pod's index is valid for the job; always true unless the job is indexed.
func (d *Decision) inRange(pod *corev1.Pod) bool {
	return !d.indexed() || index(pod) != noIndex && index(pod) < d.completions()
}
