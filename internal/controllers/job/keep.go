package job

import (
	"context"
	"encoding/json"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// most is how many pods are made, deleted or counted in one run: the status is told in between.
const most = 500

// keep makes the number of active pods what it should be.
func (d *Decision) keep() {
	if d.suspended() {
		d.remove(d.active[:min(len(d.active), most)])
		return
	}
	want := d.wanted()
	if surplus := d.surplus(len(d.active) - want); len(surplus) > 0 {
		d.remove(surplus[:min(len(surplus), most)])
		return
	}
	missing := want - len(d.active)
	if d.waitsForEnds() {
		missing -= len(d.terminating)
	}
	if missing > 0 {
		d.create(min(missing, most))
	}
}

// wanted is how many pods should be at work: no more than there is work left. A job that does not say how much there is has one
// pod say so, by its success; the others go on then.
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

// surplus are the pods that are too many, as many as said at least.
func (d *Decision) surplus(least int) (surplus []*corev1.Pod) {
	left := slices.Clone(d.active)
	if d.indexed() {
		surplus, left = d.twice()
	}
	if more := least - len(surplus); more > 0 {
		pods.LeastWork(left)
		surplus = append(surplus, left[:more]...)
	}
	return surplus
}

// remove deletes pods that are not to be counted.
func (d *Decision) remove(list []*corev1.Pod) {
	var all action.Together
	for _, pod := range list {
		all = append(all, removal{untrack(pod), d.deletion(pod)})
	}
	d.delete(list, all)
}

// stop deletes the pods that are still at work when the job ends. Those of one that fails count as failures.
func (d *Decision) stop() {
	last := d.active[:min(len(d.active), most)]
	var all action.Together
	for _, pod := range last {
		all = append(all, d.deletion(pod))
	}
	d.delete(last, all)
}

// delete notes the pods that are deleted, and by what actions.
func (d *Decision) delete(list []*corev1.Pod, all action.Together) {
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
	return action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: action.Tell{
		About: d.Job, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailureBegin: "Error deleting: ",
	}}
}

// removal is the end of a pod that is not to be counted: it must be released before it is deleted.
type removal struct{ release, delete action.Action }

func (r removal) String() string { return r.release.String() + ", " + r.delete.String() }

func (r removal) Do(ctx context.Context, by *action.Hand) error {
	if err := r.release.Do(ctx, by); err != nil {
		return err
	}
	return r.delete.Do(ctx, by)
}

// untrack releases a pod that has been counted, or is not to be.
func untrack(pod *corev1.Pod) action.Action { return release(pod, map[string]any{"uid": pod.UID}) }

// release takes the finalizer off the pod that has this metadata.
func release(pod *corev1.Pod, meta map[string]any) action.Action {
	meta["$deleteFromPrimitiveList/finalizers"] = []string{batchv1.JobTrackingFinalizer}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		panic(err) // strings
	}
	return action.Patch[*corev1.Pod]{
		In: pods.Resource, Object: pod, Type: types.StrategicMergePatchType, Body: body, Does: "release",
	}
}

// create makes so many pods, those that may be made now.
func (d *Decision) create(count int) {
	if wait := d.leftAlone(); wait > 0 {
		d.lookAgain(wait)
		return
	}
	if d.spec.BackoffLimitPerIndex == nil {
		if wait := d.backoff(); wait > 0 {
			d.lookAgain(wait)
			return
		}
	}
	var made action.Together
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

// pending are the first indexes that a pod is to be made for now.
func (d *Decision) pending(count int) []int {
	taken := union(d.done, d.lost, only(indexesOf(d.active)...))
	if d.waitsForEnds() {
		taken = union(taken, only(indexesOf(d.terminating)...))
	}
	list := taken.missing(count, d.completions())
	if d.spec.BackoffLimitPerIndex == nil {
		return list
	}
	due, wait := d.dueIndexes(list)
	if wait > 0 {
		d.lookAgain(wait)
	}
	return due
}

func (d *Decision) creation(pod *corev1.Pod) action.Action {
	return action.Create[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: action.Tell{
		About: d.Job, Reason: "SuccessfulCreate", Message: "Created pod: " + pod.Name,
		FailureReason: "FailedCreate", FailureBegin: "Error creating: ",
	}}
}
