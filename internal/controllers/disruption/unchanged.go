package disruption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// unchanged asks the server whether the pods of a budget are as they were seen, and their controllers want as many: a cache
// that shows a pod that has gone, or a set as small as it was, would have others go too. It stands before a count that allows
// more than the one before it; fewer can do no harm.
type unchanged struct {
	budget *policyv1.PodDisruptionBudget
	// pods are those that the budget selects, healthy those that are counted on. wants are what was found of them when they were
	// asked about; where none was the budget says itself how many pods are needed, and one more than was seen needs no other.
	pods, healthy []*corev1.Pod
	wants         []want
	now           func(context.Context, *corev1.Pod) (Scale, error)
}

// want is what the controller of a pod wants.
type want struct {
	of *corev1.Pod
	is Scale
}

func (u unchanged) String() string {
	return fmt.Sprintf("make sure that the %d pods of poddisruptionbudget/%s are as they were seen", len(u.healthy), u.budget.Name)
}

func (u unchanged) Do(ctx context.Context, by *action.Hand) error {
	return action.Soon(func() error {
		if err := u.check(ctx, by); err != nil {
			return err
		}
		for _, w := range u.wants {
			if is, err := u.now(ctx, w.of); err != nil {
				return err
			} else if is != w.is {
				return fmt.Errorf("%w: %d pods are wanted where pod/%s is of, and were %d",
					action.ErrBehind, is.Replicas, w.of.Name, w.is.Replicas)
			}
		}
		return nil
	})
}

// check compares pods.
func (u unchanged) check(ctx context.Context, by *action.Hand) error {
	selector, err := metav1.LabelSelectorAsSelector(u.budget.Spec.Selector)
	if err != nil {
		return err
	}
	known, is := map[types.UID]bool{}, map[types.UID]string{}
	for _, seen := range u.pods {
		known[seen.UID] = true
	}
	which := metav1.ListOptions{LabelSelector: selector.String()}
	for pod, err := range client.Of[*metav1.PartialObjectMetadata](by.Client, pods.Resource).All(ctx, u.budget.Namespace, which) {
		switch {
		case err != nil:
			return err
		case len(u.wants) > 0 && !known[pod.UID]:
			return fmt.Errorf("%w: it does not show pod/%s", action.ErrBehind, pod.Name)
		}
		is[pod.UID] = pod.ResourceVersion
	}
	for _, seen := range u.healthy {
		if is[seen.UID] != seen.ResourceVersion {
			return fmt.Errorf("%w: pod/%s has changed", action.ErrBehind, seen.Name)
		}
	}
	return nil
}
