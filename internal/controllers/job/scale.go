package job

import (
	"context"
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// maxPodsPerRun limits how many pods are created, deleted or counted in one run; the status is written after each run.
const maxPodsPerRun = 500

// scaler decides which pods of a job are created and deleted.
type scaler struct {
	job     *batchv1.Job
	spec    jobSpec
	tally   *tally
	loss    *podLoss
	past    Outcomes
	usage   func() podlimit.Usage
	now     time.Time
	factory podFactory

	actions []action.Action
	deleted map[types.UID]*corev1.Pod
	created int
	requeue time.Duration // delay until pods may be created; 0 for none
	refusal *podlimit.Refusal
}

func newScaler(d *Decision, loss *podLoss) *scaler {
	return &scaler{
		job: d.Job, spec: d.spec, tally: d.tally, loss: loss, past: d.Past, usage: d.Usage, now: d.Now,
		factory: podFactory{job: d.Job, spec: d.spec, observed: d.Pods, nameTaken: d.NameTaken},
	}
}

// scale brings the number of active pods to the wanted number.
func (s *scaler) scale() {
	if s.spec.suspended() {
		s.remove(s.tally.active[:min(len(s.tally.active), maxPodsPerRun)])
		return
	}
	want := s.tally.wanted()
	if surplus := s.tally.surplus(len(s.tally.active) - want); len(surplus) > 0 {
		s.remove(surplus[:min(len(surplus), maxPodsPerRun)])
		return
	}
	missing := want - len(s.tally.active)
	if s.spec.replacesOnlyEnded() {
		missing -= len(s.tally.terminating)
	}
	if missing <= 0 {
		return
	}
	limit := s.usage().Grant(missing)
	s.refusal, s.requeue = limit.Refusal, earlier(s.requeue, limit.Wait)
	if limit.Pods > 0 {
		s.create(min(limit.Pods, maxPodsPerRun))
	}
}

// remove deletes pods that are not to be counted.
func (s *scaler) remove(list []*corev1.Pod) {
	var removals action.Parallel
	for _, pod := range list {
		removals = append(removals, removal{untrack(pod), deletion(s.job, pod)})
	}
	s.delete(list, removals)
}

// deleteActive deletes the pods that are still active when the job ends. If the job fails, they count as failures.
func (s *scaler) deleteActive() {
	active := s.tally.active[:min(len(s.tally.active), maxPodsPerRun)]
	var deletions action.Parallel
	for _, pod := range active {
		deletions = append(deletions, deletion(s.job, pod))
	}
	s.delete(active, deletions)
}

// delete records the pods that are deleted, and the actions that delete them.
func (s *scaler) delete(list []*corev1.Pod, deletions action.Parallel) {
	if len(list) == 0 {
		return
	}
	s.deleted = make(map[types.UID]*corev1.Pod, len(list))
	for _, pod := range list {
		s.deleted[pod.UID] = pod
	}
	s.actions = append(s.actions, deletions)
}

func deletion(j *batchv1.Job, pod *corev1.Pod) action.Action {
	return action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: j, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailurePrefix: "Error deleting: ",
	}}
}

// removal removes a pod that is not to be counted; its finalizer has to be removed before it is deleted.
type removal struct{ release, delete action.Action }

func (r removal) String() string { return r.release.String() + ", " + r.delete.String() }

func (r removal) Do(ctx context.Context, exec *action.Executor) error {
	if err := r.release.Do(ctx, exec); err != nil {
		return err
	}
	return r.delete.Do(ctx, exec)
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
func (s *scaler) create(count int) {
	if wait := s.loss.creationDelay(); wait > 0 {
		s.requeue = earlier(s.requeue, wait)
		return
	}
	if s.spec.BackoffLimitPerIndex == nil {
		if wait := s.tally.outcomes(s.past).remainingDelay(s.now); wait > 0 {
			s.requeue = earlier(s.requeue, wait)
			return
		}
	}
	var creates action.Parallel
	if s.spec.indexed() {
		for _, i := range s.pending(count) {
			prefix := indexPrefix(s.job.Name, i)
			name, _ := s.factory.freeName(prefix, 0)
			creates = append(creates, creation(s.job, s.factory.indexedPod(prefix, name, i, s.tally.delayed[i])))
		}
	} else {
		for n := 0; len(creates) < count; n++ {
			var name string
			name, n = s.factory.freeName(pods.Prefix(s.job.Name), n)
			creates = append(creates, creation(s.job, s.factory.newPod(name)))
		}
	}
	if s.created = len(creates); s.created > 0 {
		s.actions = append(s.actions, creates)
	}
}

// pending returns the first indexes for which a pod may be created now.
func (s *scaler) pending(count int) []int {
	taken := union(s.tally.completed, s.tally.failed, indexSet(indexesOf(s.tally.active)...))
	if s.spec.replacesOnlyEnded() {
		taken = union(taken, indexSet(indexesOf(s.tally.terminating)...))
	}
	list := taken.missing(count, s.spec.completions())
	if s.spec.BackoffLimitPerIndex == nil {
		return list
	}
	due, wait := s.tally.dueIndexes(list, s.now)
	if wait > 0 {
		s.requeue = earlier(s.requeue, wait)
	}
	return due
}

func creation(j *batchv1.Job, pod *corev1.Pod) action.Action {
	return action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: j, Reason: "SuccessfulCreate", Message: "Created pod: " + pod.Name,
		FailureReason: "FailedCreate", FailurePrefix: "Error creating: ",
	}}
}

// earlier returns the shorter of two delays, of which 0 means none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
