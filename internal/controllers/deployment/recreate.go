package deployment

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// recreate waits until all old pods have terminated before it creates the first new one.
func (r *rollout) recreate() {
	r.ensureRevision(false)
	var scaledDown bool
	for _, set := range slices.Clone(r.sets.old) {
		if replicas(set) > 0 {
			scaledDown = r.sets.scale(set, 0) || scaledDown
		}
	}
	if scaledDown || r.oldPodsRun() {
		return
	}
	r.drained = r.sets.old
	if r.sets.next == nil {
		r.ensureRevision(true)
		return
	}
	if !r.sets.scale(r.sets.next, r.sets.limits.size) && r.sets.complete() {
		r.sets.pruneHistory()
	}
}

// oldPodsRun reports whether a pod of an old ReplicaSet may still run.
func (r *rollout) oldPodsRun() bool {
	return slices.ContainsFunc(r.sets.old, func(set *appsv1.ReplicaSet) bool {
		if set.Status.Replicas > 0 || ptr.Deref(set.Status.TerminatingReplicas, 0) > 0 ||
			set.Generation > set.Status.ObservedGeneration { // it may be creating one
			return true
		}
		for _, pod := range r.Pods(set.UID) {
			if !pods.IsTerminal(pod) {
				return true
			}
		}
		return false
	})
}

// oldPodsEnded is the precondition that no pod of the old ReplicaSets is running. It asks the server, because the
// cache may show a pod later than it shows the ReplicaSet that has none left.
type oldPodsEnded struct {
	owner ownership.Owner
	sets  []*appsv1.ReplicaSet
}

func (e oldPodsEnded) String() string {
	return fmt.Sprintf("check that the pods of %d old replicasets have terminated", len(e.sets))
}

func (e oldPodsEnded) Check(ctx context.Context, exec *action.Executor) error {
	options := metav1.ListOptions{LabelSelector: e.owner.Selector.String()}
	for pod, err := range client.Of[*corev1.Pod](exec.Client, pods.Resource).All(ctx, e.owner.Object.GetNamespace(),
		options) {
		if err != nil {
			return err
		}
		owned := func(set *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(pod, set) }
		if !pods.IsTerminal(pod) && slices.ContainsFunc(e.sets, owned) {
			return fmt.Errorf("%w: pod/%s has not terminated", action.ErrStaleCache, pod.Name)
		}
	}
	return nil
}
