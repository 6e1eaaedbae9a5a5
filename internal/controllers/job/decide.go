package job

import (
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
)

// Input is what the controller has observed.
type Input struct {
	Job      *batchv1.Job
	Selector labels.Selector
	// Pods are the pods in the job's namespace that the job or no one controls, including those that have
	// ended or are being deleted.
	Pods []*corev1.Pod
	// NameTaken reports whether a pod that is not the job's has the name.
	NameTaken func(name string) bool
	// Past are the outcomes of pods that may have been deleted.
	Past Outcomes
	// Usage counts the pods that share the limits of package podlimit with the job.
	Usage func() podlimit.Usage
	// Backoff delays the replacement of pods that the job lost because their labels were changed.
	Backoff *podbackoff.Tracker
	Now     time.Time
}

// Decision holds the actions for a job, in three steps. The executor stops if Claim fails or if Apply returns
// action.ErrStaleCache; after any other error from Apply it still executes Report.
type Decision struct {
	Input
	// Claim adopts and releases pods, and verifies with the server what the decision is based on.
	Claim []action.Action
	// Apply creates and deletes pods, provided that the job has not changed.
	Apply []action.Action

	spec    jobSpec
	tally   *tally
	status  batchv1.JobStatus // the new status of the job
	requeue time.Duration     // delay until the next reconcile; 0 for none
	adopts  bool              // pods have to be adopted first

	// end is why the job ends; nil while it runs.
	end *batchv1.JobCondition
	// deleted are the pods that Apply deletes; created is the number that it creates.
	deleted map[types.UID]*corev1.Pod
	created int
	// refusal is the limit that does not permit all pods now, or nil.
	refusal *podlimit.Refusal
	// releasing are the pods whose finalizer is removed in this run, listed ones first; moreToRelease reports that
	// others remain for the next run.
	releasing     []*corev1.Pod
	moreToRelease bool
}

// Decide computes the next steps for a running job. The job must not have ended, and must not be managed by
// another controller (spec.managedBy).
func Decide(s Input) *Decision {
	d := &Decision{Input: s, spec: jobSpec{&s.Job.Spec}, status: *s.Job.Status.DeepCopy()}
	d.tally = &tally{spec: d.spec}
	owner := ownership.Owner{Object: s.Job, Kind: kind, Resource: resource, Selector: s.Selector,
		Finalizer: batchv1.JobTrackingFinalizer}
	claims := ownership.Claim(owner, s.Pods)
	loss := &podLoss{job: s.Job, backoff: s.Backoff, now: s.Now}
	d.Claim = loss.claim(owner, claims)
	if d.adopts = len(claims.Adopted) > 0; d.adopts {
		return d // adopted pods are counted in the next run
	}
	if d.status.UncountedTerminatedPods == nil {
		d.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	d.tally = newTally(d.spec, &d.status, claims.Owned)
	d.end = d.endCondition()
	d.changePods(loss)
	d.selectReleases()
	d.verify()
	return d
}

// changePods decides which pods Apply creates and deletes.
func (d *Decision) changePods(loss *podLoss) {
	s := newScaler(d, loss)
	switch {
	case d.end != nil:
		s.deleteActive()
	case d.Job.DeletionTimestamp == nil:
		s.scale()
	}
	d.Apply, d.created, d.deleted, d.refusal = s.actions, s.created, s.deleted, s.refusal
	d.requeue = earlier(d.requeue, s.requeue)
}

// selectReleases selects the pods whose finalizer is removed in this run, limited to what the status may list.
func (d *Decision) selectReleases() {
	for _, listed := range []bool{true, false} {
		for _, pod := range d.tally.pods {
			if d.tally.listed[pod.UID] != listed || !isTracked(pod) || !d.mayRelease(pod) {
				continue
			}
			if d.moreToRelease = len(d.releasing) >= maxPodsPerRun; d.moreToRelease {
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
	check := verifiedPods{job: d.Job, selector: d.Selector, pods: d.tally.pods, gone: maps.Clone(d.tally.listed)}
	for _, pod := range d.tally.pods {
		delete(check.gone, pod.UID)
		if d.deleted[pod.UID] != nil {
			check.exact = append(check.exact, pod)
		}
	}
	for _, pod := range d.releasing {
		if !d.tally.listed[pod.UID] && d.deleted[pod.UID] == nil {
			check.exact = append(check.exact, pod)
		}
	}
	first := len(d.tally.pods) == 0 && equality.Semantic.DeepEqual(d.Job.Status, batchv1.JobStatus{})
	if len(check.exact)+len(check.gone) > 0 || d.end != nil || d.tally.enough() || len(d.Apply) > 0 && !first {
		d.Claim = append(d.Claim, check)
	}
	if len(d.Apply) > 0 {
		unchanged := action.Unchanged[*batchv1.Job]{Resource: resource, Objects: []*batchv1.Job{d.Job}}
		d.Apply = []action.Action{action.Guard{Preconditions: []action.Precondition{unchanged}, Then: d.Apply}}
	}
}
