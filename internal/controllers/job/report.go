package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Report is what Keep has come to, failure being what it ended with: the status first, then what is to be told, and then the
// release of the pods that the status has.
//
// Each pod is counted once, whatever fails in between. It has a finalizer, so that it stays until it was counted. First the
// status lists its uid; then it is released; and the count grows, in the same write as the uid leaves the list, when it shows
// that it was. So a pod that has not been released is in the list or was never counted, and one that has is in the list or was.
func (d *Decision) Report(failure error) (actions []action.Action) {
	if d.adopts {
		return nil
	}
	if failure != nil {
		d.created, d.deleted = 0, nil
		if d.end != nil {
			d.end = nil // the pods that could not be deleted are still at work
		}
	}
	d.begin()
	d.countPods()
	if d.end == nil {
		d.complete()
	}
	if d.end == nil && d.Job.DeletionTimestamp == nil {
		actions = d.suspension()
	}
	release, all := d.count()
	if told := d.conclude(all && len(release) == 0); told != nil {
		actions = append(actions, told...)
	}
	if !equality.Semantic.DeepEqual(d.status, d.Job.Status) {
		written := *d.Job // but for the status it is the cache's
		written.Status = d.status
		status := action.Update[*batchv1.Job]{In: resource, Object: &written, Subresource: "status"}
		actions = append([]action.Action{status}, actions...)
	}
	if len(release) > 0 {
		actions = append(actions, release)
	}
	if d.again > 0 && d.end == nil {
		actions = append(actions, action.Again{After: d.again})
	}
	return actions
}

// begin notes when the job began to work.
func (d *Decision) begin() {
	if d.status.StartTime == nil && !d.suspended() {
		d.status.StartTime = ptr.To(metav1.NewTime(d.Now))
	}
}

// countPods tells how many pods there are, with what has just been done.
func (d *Decision) countPods() {
	ready := 0
	for _, pod := range d.active {
		if pods.IsReady(pod) && d.deleted[pod.UID] == nil {
			ready++
		}
	}
	d.status.Active = int32(len(d.active) + d.created - len(d.deleted))
	d.status.Ready = ptr.To(int32(ready))
	d.status.Terminating = ptr.To(int32(len(d.terminating) + len(d.deleted)))
}

// complete finds out whether all the work is done.
func (d *Decision) complete() {
	if d.enough() && d.status.Active == 0 {
		d.end = d.success(batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
	}
}

// enough says whether as many pods have succeeded as the job asks for. One that does not say how many has one say so.
func (d *Decision) enough() bool {
	if d.spec.Completions != nil {
		return d.succeeded >= d.completions()
	}
	return d.succeeded > 0
}

// suspension says that the job rests, or has gone on: the time that it may take counts from then.
func (d *Decision) suspension() []action.Action {
	is := find(d.status.Conditions, batchv1.JobSuspended)
	switch {
	case d.suspended() && (is == nil || is.Status != corev1.ConditionTrue):
		d.set(d.condition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended"))
		d.status.StartTime = nil
		return []action.Action{action.Event{About: d.Job, Reason: "Suspended", Message: "Job suspended"}}
	case !d.suspended() && is != nil && is.Status == corev1.ConditionTrue:
		d.set(d.condition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed"))
		d.status.StartTime = ptr.To(metav1.NewTime(d.Now))
		return []action.Action{action.Event{About: d.Job, Reason: "Resumed", Message: "Job resumed"}}
	}
	return nil
}

// set adds a condition, or replaces the one of its type.
func (d *Decision) set(c *batchv1.JobCondition) {
	if is := find(d.status.Conditions, c.Type); is != nil {
		*is = *c
		return
	}
	d.status.Conditions = append(d.status.Conditions, *c)
}

// count moves pods that have been released from the list to the counts, and puts those that have ended into the list. What it
// returns releases them; all says that no more are left than those.
func (d *Decision) count() (release action.Together, all bool) {
	tracked := map[types.UID]bool{}
	for _, pod := range d.pods {
		if isTracked(pod) {
			tracked[pod.UID] = true
		}
	}
	uncounted := d.status.UncountedTerminatedPods
	counted(&uncounted.Succeeded, &d.status.Succeeded, tracked)
	counted(&uncounted.Failed, &d.status.Failed, tracked)
	var done []int
	for _, pod := range d.settling {
		if !d.mayRelease(pod) {
			continue // after all: what was to be done failed
		}
		release = append(release, untrack(pod))
		switch {
		case d.listed[pod.UID] || !d.inRange(pod):
		case pod.Status.Phase == corev1.PodSucceeded && d.indexed():
			done = append(done, index(pod))
		case pod.Status.Phase == corev1.PodSucceeded:
			uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
		case (d.failed(pod) || d.fails()) && judge(d.spec.PodFailurePolicy, pod).counts():
			uncounted.Failed = append(uncounted.Failed, pod.UID)
		}
	}
	d.tellIndexes(done)
	return release, !d.more && len(uncounted.Succeeded)+len(uncounted.Failed) == 0
}

// counted counts the pods of a list that have been released.
func counted(list *[]types.UID, count *int32, tracked map[types.UID]bool) {
	var left []types.UID
	for _, uid := range *list {
		if tracked[uid] {
			left = append(left, uid)
		} else {
			*count++
		}
	}
	*list = left
}

// tellIndexes tells which indexes are done, with these, and which are lost.
func (d *Decision) tellIndexes(done []int) {
	if !d.indexed() {
		return
	}
	counted := union(d.before, only(done...))
	d.status.Succeeded, d.status.CompletedIndexes = int32(counted.count()), counted.String()
	d.status.FailedIndexes = nil
	if d.spec.BackoffLimitPerIndex != nil {
		d.status.FailedIndexes = ptr.To(d.lost.String())
	}
}

// fails says that the job ends in failure.
func (d *Decision) fails() bool { return d.end != nil && d.end.Type == batchv1.JobFailureTarget }

// mayRelease says whether nobody waits for a pod any more. At the end of a job that is any which is not at work.
func (d *Decision) mayRelease(pod *corev1.Pod) bool {
	switch {
	case d.Job.DeletionTimestamp != nil || d.listed[pod.UID] || pod.Status.Phase == corev1.PodSucceeded:
		return true
	case d.end != nil:
		return !pods.IsActive(pod) || d.deleted[pod.UID] != nil
	}
	last := d.delayed[index(pod)]
	return d.failed(pod) && (last == nil || last.UID != pod.UID)
}

// conclude says that the job will end, and that it has once all pods are counted and none is still ending.
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
		d.set(d.condition(batchv1.JobFailed, corev1.ConditionTrue, d.end.Reason, d.end.Message))
		return []action.Action{action.Event{About: d.Job, Warning: true, Reason: d.end.Reason, Message: d.end.Message}}
	}
	end := d.condition(batchv1.JobComplete, corev1.ConditionTrue, d.end.Reason, d.end.Message)
	d.set(end)
	d.status.CompletionTime = &end.LastTransitionTime
	var told []action.Action
	if d.spec.Completions != nil && int(d.status.Succeeded) > d.completions() {
		told = append(told, action.Event{About: d.Job, Warning: true, Reason: "TooManySucceededPods",
			Message: "Too many succeeded pods running after completion count reached"})
	}
	return append(told, action.Event{About: d.Job, Reason: "Completed", Message: "Job completed"})
}
