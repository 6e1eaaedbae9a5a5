package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Report returns the actions that record the outcome of Apply, given Apply's error: first the status, then
// events, and then the removal of finalizers from the pods that the status lists.
//
// Each pod is counted exactly once, whichever step fails. Its finalizer retains it until it is counted. First
// the status lists its uid, then the finalizer is removed, and when the cache shows that it was, one write
// both removes the uid from the list and increments the count. So a pod with the finalizer is in the list or
// was never counted, and a pod without it is in the list or was counted.
func (d *Decision) Report(failure error) (actions []action.Action) {
	if d.adopts {
		return nil
	}
	if failure != nil {
		d.created, d.deleted = 0, nil
		if d.end != nil {
			d.end = nil // the pods that could not be deleted are still active
		}
	}
	d.setStartTime()
	d.countPods()
	if d.end == nil {
		d.complete()
	}
	if d.end == nil && d.Job.DeletionTimestamp == nil {
		actions = d.suspension()
	}
	actions = append(actions, d.reportLimit()...)
	releases, allCounted := d.updateCounts()
	actions = append(actions, d.conclude(allCounted && len(releases) == 0)...)
	if !equality.Semantic.DeepEqual(d.status, d.Job.Status) {
		written := *d.Job // shares everything but the status with the cache
		written.Status = d.status
		status := action.Update[*batchv1.Job]{Resource: resource, Object: &written, Subresource: "status"}
		actions = append([]action.Action{status}, actions...)
	}
	if len(releases) > 0 {
		actions = append(actions, releases)
	}
	if d.requeue > 0 && d.end == nil {
		actions = append(actions, action.Requeue{After: d.requeue})
	}
	return actions
}

// outcomes returns the outcomes of the job's pods, which are stored for the next decision.
func (d *Decision) outcomes() Outcomes { return d.tally.outcomes(d.Past) }

// setStartTime sets status.startTime when the job first runs without being suspended.
func (d *Decision) setStartTime() {
	if d.status.StartTime == nil && !d.spec.suspended() {
		d.status.StartTime = ptr.To(metav1.NewTime(d.Now))
	}
}

// countPods sets the pod counts of the status, including the effect of Apply.
func (d *Decision) countPods() {
	ready := 0
	for _, pod := range d.tally.active {
		if pods.IsReady(pod) && d.deleted[pod.UID] == nil {
			ready++
		}
	}
	d.status.Active = int32(len(d.tally.active) + d.created - len(d.deleted))
	d.status.Ready = ptr.To(int32(ready))
	d.status.Terminating = ptr.To(int32(len(d.tally.terminating) + len(d.deleted)))
}

// complete ends the job if all its work is done.
func (d *Decision) complete() {
	if d.tally.enough() && d.status.Active == 0 {
		d.end = d.success(batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
	}
}

// suspension records that the job was suspended or resumed. Resuming restarts the active deadline.
func (d *Decision) suspension() []action.Action {
	condition := find(d.status.Conditions, batchv1.JobSuspended)
	switch {
	case d.spec.suspended() && (condition == nil || condition.Status != corev1.ConditionTrue):
		setCondition(&d.status, newCondition(d.Now, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended",
			"Job suspended"))
		d.status.StartTime = nil
		return []action.Action{action.Event{Object: d.Job, Reason: "Suspended", Message: "Job suspended"}}
	case !d.spec.suspended() && condition != nil && condition.Status == corev1.ConditionTrue:
		setCondition(&d.status, newCondition(d.Now, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed",
			"Job resumed"))
		d.status.StartTime = ptr.To(metav1.NewTime(d.Now))
		return []action.Action{action.Event{Object: d.Job, Reason: "Resumed", Message: "Job resumed"}}
	}
	return nil
}

// limitConditions are the conditions that report the limits of package podlimit.
var limitConditions = podlimit.Conditions[batchv1.JobCondition]{
	Is: func(c batchv1.JobCondition, message string) bool {
		return c.Type == podlimit.ConditionType && (message == "" || c.Message == message)
	},
	New: func(now metav1.Time, message string) batchv1.JobCondition {
		return *newCondition(now.Time, podlimit.ConditionType, corev1.ConditionTrue, podlimit.Reason, message)
	},
}

// reportLimit sets the condition that reports why pods are not created now, and returns an event if it is new.
func (d *Decision) reportLimit() []action.Action {
	if d.end != nil {
		d.refusal = nil
	}
	conditions, changed := limitConditions.Update(d.status.Conditions, d.refusal, d.Now)
	if d.status.Conditions = conditions; changed {
		return []action.Action{d.refusal.Event(d.Job)}
	}
	return nil
}

// setCondition adds a condition, or replaces the one of its type.
func setCondition(status *batchv1.JobStatus, c *batchv1.JobCondition) {
	if existing := find(status.Conditions, c.Type); existing != nil {
		*existing = *c
		return
	}
	status.Conditions = append(status.Conditions, *c)
}

// updateCounts moves uids of released pods from the list of the status to its counts, and adds newly ended pods to
// the list. It returns the actions that release the listed pods; allCounted reports that no other pods remain to be
// counted.
func (d *Decision) updateCounts() (releases action.Parallel, allCounted bool) {
	tracked := map[types.UID]bool{}
	for _, pod := range d.tally.pods {
		if isTracked(pod) {
			tracked[pod.UID] = true
		}
	}
	uncounted := d.status.UncountedTerminatedPods
	moveReleased(&uncounted.Succeeded, &d.status.Succeeded, tracked)
	moveReleased(&uncounted.Failed, &d.status.Failed, tracked)
	var completed []int
	for _, pod := range d.releasing {
		if !d.mayRelease(pod) {
			continue // Apply failed, so it may no longer be released
		}
		releases = append(releases, untrack(pod))
		switch {
		case d.tally.listed[pod.UID] || !d.spec.inRange(pod):
		case pod.Status.Phase == corev1.PodSucceeded && d.spec.indexed():
			completed = append(completed, index(pod))
		case pod.Status.Phase == corev1.PodSucceeded:
			uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
		case (d.spec.failed(pod) || d.fails()) && judge(d.spec.PodFailurePolicy, pod).counts():
			uncounted.Failed = append(uncounted.Failed, pod.UID)
		}
	}
	d.reportIndexes(completed)
	return releases, !d.moreToRelease && len(uncounted.Succeeded)+len(uncounted.Failed) == 0
}

// moveReleased removes released pods from the list and adds them to count.
func moveReleased(list *[]types.UID, count *int32, tracked map[types.UID]bool) {
	var remaining []types.UID
	for _, uid := range *list {
		if tracked[uid] {
			remaining = append(remaining, uid)
		}
	}
	*count = bounded.Count(int64(*count) + int64(len(*list)-len(remaining)))
	*list = remaining
}

// reportIndexes writes the completed and failed indexes to the status; completed are the newly completed ones.
func (d *Decision) reportIndexes(completed []int) {
	if !d.spec.indexed() {
		return
	}
	counted := union(d.tally.completedInStatus, indexSet(completed...))
	d.status.Succeeded, d.status.CompletedIndexes = int32(counted.count()), counted.String()
	d.status.FailedIndexes = nil
	if d.spec.BackoffLimitPerIndex != nil {
		d.status.FailedIndexes = ptr.To(d.tally.failed.String())
	}
}

// fails reports whether the job ends in failure.
func (d *Decision) fails() bool { return d.end != nil && d.end.Type == batchv1.JobFailureTarget }

// mayRelease reports whether a pod's finalizer is no longer needed. When the job ends, that is so for every
// pod that is not active.
func (d *Decision) mayRelease(pod *corev1.Pod) bool {
	switch {
	case d.Job.DeletionTimestamp != nil || d.tally.listed[pod.UID] || pod.Status.Phase == corev1.PodSucceeded:
		return true
	case d.end != nil:
		return !pods.IsActive(pod) || d.deleted[pod.UID] != nil
	}
	last := d.tally.delayed[index(pod)]
	return d.spec.failed(pod) && (last == nil || last.UID != pod.UID)
}

// conclude sets the condition that the job will end and, once all pods are counted and none is terminating,
// the one that it has ended.
func (d *Decision) conclude(counted bool) []action.Action {
	if d.end == nil {
		return nil
	}
	if find(d.status.Conditions, d.end.Type) == nil {
		d.status.Conditions = append(d.status.Conditions, *d.end)
	}
	if !counted || d.status.Active > 0 || *d.status.Terminating > 0 {
		return nil
	}
	if d.fails() {
		setCondition(&d.status, newCondition(d.Now, batchv1.JobFailed, corev1.ConditionTrue, d.end.Reason,
			d.end.Message))
		return []action.Action{action.Event{Object: d.Job, Warning: true, Reason: d.end.Reason, Message: d.end.Message}}
	}
	end := newCondition(d.Now, batchv1.JobComplete, corev1.ConditionTrue, d.end.Reason, d.end.Message)
	setCondition(&d.status, end)
	d.status.CompletionTime = &end.LastTransitionTime
	var events []action.Action
	if d.spec.Completions != nil && int(d.status.Succeeded) > d.spec.completions() {
		events = append(events, action.Event{Object: d.Job, Warning: true, Reason: "TooManySucceededPods",
			Message: "Too many succeeded pods running after completion count reached"})
	}
	return append(events, action.Event{Object: d.Job, Reason: "Completed", Message: "Job completed"})
}
