package disruption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// unchanged verifies with the server that a budget's pods are as observed and that their controllers want as
// many. A stale cache that shows a deleted pod, or a set before it was scaled up, would allow too many
// evictions. It precedes a status that allows more disruptions than before; one that allows fewer needs no
// check.
type unchanged struct {
	budget *policyv1.PodDisruptionBudget
	// pods are the observed pods of the budget, healthy those counted as healthy. scales are the observed
	// scales. If there are none, the budget itself states the number of pods that must be available, and pods
	// that were not observed are harmless.
	pods, healthy  []*corev1.Pod
	observedScales []observedScale
	liveScale      func(context.Context, *corev1.Pod) (Scale, error)
}

// observedScale is the observed scale of a pod's controller.
type observedScale struct {
	pod   *corev1.Pod
	scale Scale
}

func (u unchanged) String() string {
	return fmt.Sprintf("check that the %d pods of poddisruptionbudget/%s are unchanged", len(u.healthy),
		u.budget.Name)
}

func (u unchanged) Do(ctx context.Context, exec *action.Executor) error {
	return action.RetryIfSlow(func() error {
		if err := u.check(ctx, exec); err != nil {
			return err
		}
		for _, w := range u.observedScales {
			if live, err := u.liveScale(ctx, w.pod); err != nil {
				return err
			} else if live != w.scale {
				return fmt.Errorf("%w: the controller of pod/%[3]s wants %[2]d pods, but wanted %[4]d",
					action.ErrStaleCache, live.Replicas, w.pod.Name, w.scale.Replicas)
			}
		}
		return nil
	})
}

// check compares the pods.
func (u unchanged) check(ctx context.Context, exec *action.Executor) error {
	selector, err := metav1.LabelSelectorAsSelector(u.budget.Spec.Selector)
	if err != nil {
		return err
	}
	observed, versions := map[types.UID]bool{}, map[types.UID]string{}
	for _, p := range u.pods {
		observed[p.UID] = true
	}
	options := metav1.ListOptions{LabelSelector: selector.String()}
	for pod, err := range client.Of[*metav1.PartialObjectMetadata](exec.Client, pods.Resource).All(ctx,
		u.budget.Namespace, options) {
		switch {
		case err != nil:
			return err
		case len(u.observedScales) > 0 && !observed[pod.UID]:
			return fmt.Errorf("%w: it does not show pod/%s", action.ErrStaleCache, pod.Name)
		}
		versions[pod.UID] = pod.ResourceVersion
	}
	for _, p := range u.healthy {
		if versions[p.UID] != p.ResourceVersion {
			return fmt.Errorf("%w: pod/%s has changed", action.ErrStaleCache, p.Name)
		}
	}
	return nil
}
