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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// recreate ends all old pods before it makes the first new one.
func (r *rollout) recreate() {
	r.keepRevision(false)
	var some bool
	for _, set := range slices.Clone(r.old) {
		if replicas(set) > 0 {
			some = r.scale(set, 0) || some
		}
	}
	if some || r.oldRun() {
		return
	}
	r.over = r.old
	if r.next == nil {
		r.keepRevision(true)
		return
	}
	if !r.scale(r.next, r.size()) && r.complete() {
		r.forgetOld()
	}
}

// oldRun says that a pod of an old replicaset has not ended.
func (r *rollout) oldRun() bool {
	return slices.ContainsFunc(r.old, func(set *appsv1.ReplicaSet) bool {
		if set.Status.Replicas > 0 || ptr.Deref(set.Status.TerminatingReplicas, 0) > 0 ||
			set.Generation > set.Status.ObservedGeneration { // it may be making one
			return true
		}
		for _, pod := range r.Pods(set.UID) {
			if !pods.HasEnded(pod) {
				return true
			}
		}
		return false
	})
}

// ended makes sure that replicasets of a deployment have no pod that has not ended, by the word of the server: the cache may
// show a pod later than its replicaset says that it has none.
type ended struct {
	owner adopt.Owner
	sets  []*appsv1.ReplicaSet
}

func (e ended) String() string {
	return fmt.Sprintf("make sure that the pods of %d old replicasets have ended", len(e.sets))
}

func (e ended) Ask(ctx context.Context, by *action.Hand) error {
	options := metav1.ListOptions{LabelSelector: e.owner.Selector.String()}
	for pod, err := range client.Of[*corev1.Pod](by.Client, pods.Resource).All(ctx, e.owner.Object.GetNamespace(), options) {
		if err != nil {
			return err
		}
		its := func(set *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(pod, set) }
		if !pods.HasEnded(pod) && slices.ContainsFunc(e.sets, its) {
			return fmt.Errorf("%w: pod/%s has not ended", action.ErrBehind, pod.Name)
		}
	}
	return nil
}
