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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Seen is what a decision is made of.
type Seen struct {
	Job      *batchv1.Job
	Selector labels.Selector
	// Pods are those that the job controls and those that nobody does, in its namespace; ended and ending ones too.
	Pods []*corev1.Pod
	// Taken says that a pod of the namespace which is not the job's has a name.
	Taken func(name string) bool
	// Past is what has come of pods that may be gone by now.
	Past Past
	// Pauses space out what is made for pods that somebody takes from the job.
	Pauses *failing.Pauses
	Now    time.Time
}

// Decision is what is to be done, in three steps. Who carries it out stops when Claim fails, or Keep finds that the cache is
// behind, and does the rest otherwise.
type Decision struct {
	Seen
	// Claim is about whose pods are whose, and makes sure that what follows is decided of what there is.
	Claim []action.Action
	// Keep makes and deletes pods, as long as the job is as it was seen.
	Keep []action.Action

	spec   *batchv1.JobSpec
	status batchv1.JobStatus // what the job will have
	again  time.Duration     // when to look again; 0 for not by itself
	adopts bool              // there are pods to be adopted first
	robbed bool              // pods were taken from the job as soon as they were made

	// pods are the job's, and active those that do their work.
	pods, active []*corev1.Pod
	names        map[string]bool // of pods; nil while nobody asks
	// terminating are being deleted and have not ended.
	terminating []*corev1.Pod
	// listed are in the status already, as succeeded and as failed, and were not counted yet when it was written.
	listed map[types.UID]bool
	// succeeded and failed are all that have, counted or not.
	succeeded, failures int
	// done are the indexes that have succeeded, lost those that never will.
	done, lost indexes
	// before is done as the status has it.
	before indexes
	// delayed are pods that have failed and whose place the next one with their index has not taken yet.
	delayed map[int]*corev1.Pod

	// end is why the job ends, nil while it goes on.
	end *batchv1.JobCondition
	// deleted and created are what Keep does.
	deleted map[types.UID]*corev1.Pod
	created int
	// settling are the pods that are released in this run, those first that are listed; more says that others have to wait.
	settling []*corev1.Pod
	more     bool
}

// Decide says what to do next about a job that goes on. It must not have ended, or be another controller's (spec.managedBy).
func Decide(s Seen) *Decision {
	d := &Decision{Seen: s, spec: &s.Job.Spec, status: *s.Job.Status.DeepCopy()}
	owner := adopt.Owner{Object: s.Job, Kind: kind, In: resource, Selector: s.Selector, Finalizer: batchv1.JobTrackingFinalizer}
	claims := adopt.Claim(owner, s.Pods)
	d.Claim = d.claim(owner, claims)
	if d.adopts = len(claims.Adopted) > 0; d.adopts {
		return d // they count when they are the job's
	}
	d.look(claims.Owned)
	d.end = d.ending()
	switch {
	case d.end != nil:
		d.stop()
	case s.Job.DeletionTimestamp == nil:
		d.keep()
	}
	d.settle()
	d.makeSure()
	return d
}

// look sorts the pods, and counts what is not counted yet.
func (d *Decision) look(owned []*corev1.Pod) {
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
		case pods.IsActive(pod) && d.listed[pod.UID]: // it has ended, which the cache does not show yet
		case pods.IsActive(pod):
			d.active = append(d.active, pod)
		case !pods.HasEnded(pod):
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
		d.lookAtIndexes()
	}
}

// settle chooses the pods that are released in this run: no more than the status can list.
func (d *Decision) settle() {
	for _, listed := range []bool{true, false} {
		for _, pod := range d.pods {
			if d.listed[pod.UID] != listed || !isTracked(pod) || !d.mayRelease(pod) {
				continue
			}
			if d.more = len(d.settling) >= most; d.more {
				return
			}
			d.settling = append(d.settling, pod)
		}
	}
}

// makeSure adds to Claim that the server has what this was decided of: a cache that is behind shows pods that were counted
// long ago as if they were not, and not those that have just been made. The first pods of a job have the names that anybody would
// give them.
func (d *Decision) makeSure() {
	sure := agreed{job: d.Job, selector: d.Selector, pods: d.pods, gone: maps.Clone(d.listed)}
	for _, pod := range d.pods {
		delete(sure.gone, pod.UID)
		if d.deleted[pod.UID] != nil {
			sure.exact = append(sure.exact, pod)
		}
	}
	for _, pod := range d.settling {
		if !d.listed[pod.UID] && d.deleted[pod.UID] == nil {
			sure.exact = append(sure.exact, pod)
		}
	}
	first := len(d.pods) == 0 && equality.Semantic.DeepEqual(d.Job.Status, batchv1.JobStatus{})
	if len(sure.exact)+len(sure.gone) > 0 || d.end != nil || d.enough() || len(d.Keep) > 0 && !first {
		d.Claim = append(d.Claim, sure)
	}
	if len(d.Keep) > 0 {
		asked := action.Current[*batchv1.Job]{In: resource, Objects: []*batchv1.Job{d.Job}}
		d.Keep = []action.Action{action.Sure{Asks: []action.Question{asked}, Then: d.Keep}}
	}
}

// isTracked says whether a pod waits to be counted.
func isTracked(pod client.Object) bool {
	return slices.Contains(pod.GetFinalizers(), batchv1.JobTrackingFinalizer)
}

// failed says whether a pod has failed, or will have: one that is deleted before it has ended counts as well, unless the job
// waits until it has.
func (d *Decision) failed(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !d.waitsForEnds() && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// waitsForEnds says that a pod's place is free only when it has ended, not when it is asked to.
func (d *Decision) waitsForEnds() bool {
	return d.spec.PodFailurePolicy != nil || ptr.Deref(d.spec.PodReplacementPolicy, "") == batchv1.Failed
}

func (d *Decision) indexed() bool {
	return ptr.Deref(d.spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func (d *Decision) suspended() bool { return ptr.Deref(d.spec.Suspend, false) }

func (d *Decision) completions() int { return int(ptr.Deref(d.spec.Completions, 0)) }

// noIndex is that of a pod that has none.
const noIndex = -1

// index is which part of the work is a pod's.
func index(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return noIndex
	}
	return n
}

// inRange says whether a pod's index is one of the job's, where that has any.
func (d *Decision) inRange(pod *corev1.Pod) bool {
	return !d.indexed() || index(pod) != noIndex && index(pod) < d.completions()
}
