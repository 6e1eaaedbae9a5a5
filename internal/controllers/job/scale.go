package job

import (
	"context"
	"encoding/json"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// maxPodsPerRun limits how many pods are created, deleted or counted in one run; the status is written after each run.
const maxPodsPerRun = 500

// scale brings the number of active pods to the wanted number.
func (d *Decision) scale() {
	if d.suspended() {
		d.remove(d.active[:min(len(d.active), maxPodsPerRun)])
		return
	}
	want := d.wanted()
	if surplus := d.surplus(len(d.active) - want); len(surplus) > 0 {
		d.remove(surplus[:min(len(surplus), maxPodsPerRun)])
		return
	}
	missing := want - len(d.active)
	if d.replacesOnlyEnded() {
		missing -= len(d.terminating)
	}
	if missing > 0 {
		d.create(min(missing, maxPodsPerRun))
	}
}

// wanted returns how many pods should be active, limited by the remaining work. If the job does not set
// completions, the first success completes the work; the other pods then run to their end.
func (d *Decision) wanted() int {
	parallel := int(ptr.Deref(d.spec.Parallelism, 1))
	switch {
	case d.spec.Completions != nil:
		return max(0, min(parallel, d.completions()-d.succeeded))
	case d.succeeded > 0:
		return len(d.active)
	}
	return parallel
}

// surplus returns the excess pods, at least the given number.
func (d *Decision) surplus(least int) (surplus []*corev1.Pod) {
	left := slices.Clone(d.active)
	if d.indexed() {
		surplus, left = d.splitDuplicates()
	}
	if more := least - len(surplus); more > 0 {
		pods.SortByProgress(left)
		surplus = append(surplus, left[:more]...)
	}
	return surplus
}

// remove deletes pods that are not to be counted.
func (d *Decision) remove(list []*corev1.Pod) {
	var all action.Parallel
	for _, pod := range list {
		all = append(all, removal{untrack(pod), d.deletion(pod)})
	}
	d.delete(list, all)
}

// deleteActive deletes the pods that are still active when the job ends. If the job fails, they count as failures.
func (d *Decision) deleteActive() {
	last := d.active[:min(len(d.active), maxPodsPerRun)]
	var all action.Parallel
	for _, pod := range last {
		all = append(all, d.deletion(pod))
	}
	d.delete(last, all)
}

// delete records the pods that are deleted, and the actions that delete them.
func (d *Decision) delete(list []*corev1.Pod, all action.Parallel) {
	if len(list) == 0 {
		return
	}
	d.deleted = make(map[types.UID]*corev1.Pod, len(list))
	for _, pod := range list {
		d.deleted[pod.UID] = pod
	}
	d.Keep = append(d.Keep, all)
}

func (d *Decision) deletion(pod *corev1.Pod) action.Action {
	return action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: d.Job, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailurePrefix: "Error deleting: ",
	}}
}

// removal removes a pod that is not to be counted; its finalizer has to be removed before it is deleted.
type removal struct{ release, delete action.Action }

func (r removal) String() string { return r.release.String() + ", " + r.delete.String() }

func (r removal) Do(ctx context.Context, by *action.Executor) error {
	if err := r.release.Do(ctx, by); err != nil {
		return err
	}
	return r.delete.Do(ctx, by)
}

// untrack removes the tracking finalizer from a pod that has been counted or is not to be.
func untrack(pod *corev1.Pod) action.Action { return release(pod, map[string]any{"uid": pod.UID}) }

// release removes the tracking finalizer, conditional on the given metadata.
func release(pod *corev1.Pod, meta map[string]any) action.Action {
	meta["$deleteFromPrimitiveList/finalizers"] = []string{batchv1.JobTrackingFinalizer}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		panic(err) // cannot fail: strings
	}
	return action.Patch[*corev1.Pod]{
		Resource: pods.Resource, Object: pod, Type: types.StrategicMergePatchType, Body: body, Verb: "release",
	}
}

// create creates up to count pods, unless a backoff delays them.
func (d *Decision) create(count int) {
	if wait := d.creationDelay(); wait > 0 {
		d.requeueAfter(wait)
		return
	}
	if d.spec.BackoffLimitPerIndex == nil {
		if wait := d.backoff(); wait > 0 {
			d.requeueAfter(wait)
			return
		}
	}
	var made action.Parallel
	if d.indexed() {
		for _, i := range d.pending(count) {
			prefix := indexPrefix(d.Job.Name, i)
			name, _ := d.freeName(prefix, 0)
			made = append(made, d.creation(d.indexedPod(prefix, name, i)))
		}
	} else {
		for n := 0; len(made) < count; n++ {
			var name string
			name, n = d.freeName(pods.Prefix(d.Job.Name), n)
			made = append(made, d.creation(d.newPod(name)))
		}
	}
	if d.created = len(made); d.created > 0 {
		d.Keep = append(d.Keep, made)
	}
}

// pending returns the first indexes for which a pod may be created now.
func (d *Decision) pending(count int) []int {
	taken := union(d.done, d.lost, indexSet(indexesOf(d.active)...))
	if d.replacesOnlyEnded() {
		taken = union(taken, indexSet(indexesOf(d.terminating)...))
	}
	list := taken.missing(count, d.completions())
	if d.spec.BackoffLimitPerIndex == nil {
		return list
	}
	due, wait := d.dueIndexes(list)
	if wait > 0 {
		d.requeueAfter(wait)
	}
	return due
}

func (d *Decision) creation(pod *corev1.Pod) action.Action {
	return action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: d.Job, Reason: "SuccessfulCreate", Message: "Created pod: " + pod.Name,
		FailureReason: "FailedCreate", FailurePrefix: "Error creating: ",
	}}
}
