package disruption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/action"
	"github.com/bowline-dev/bowline/controllers/pods"
)

// unchanged asks the server whether the pods of a budget are as they were seen: a cache that shows one that has gone would have another
// one go too. It stands before a count that allows more than the one before it; fewer can do no harm.
type unchanged struct {
	budget *policyv1.PodDisruptionBudget
	pods   []*corev1.Pod
}

func (u unchanged) String() string {
	return fmt.Sprintf("make sure that the %d pods of poddisruptionbudget/%s are as they were seen", len(u.pods), u.budget.Name)
}

func (u unchanged) Do(ctx context.Context, by *action.Hand) error {
	selector, err := metav1.LabelSelectorAsSelector(u.budget.Spec.Selector)
	if err != nil {
		return err
	}
	is, which := map[types.UID]string{}, metav1.ListOptions{LabelSelector: selector.String()}
	for pod, err := range client.Of[*metav1.PartialObjectMetadata](by.Client, pods.Resource).All(ctx, u.budget.Namespace, which) {
		if err != nil {
			return err
		}
		is[pod.UID] = pod.ResourceVersion
	}
	for _, seen := range u.pods {
		if is[seen.UID] != seen.ResourceVersion {
			return fmt.Errorf("%w: pod/%s has changed", action.ErrBehind, seen.Name)
		}
	}
	return nil
}
