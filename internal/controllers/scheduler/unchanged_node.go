package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// unchangedNode verifies with the server that a node has exactly the observed pods. It precedes a preemption,
// which is unnecessary if the node has room that the cache does not show yet.
type unchangedNode struct {
	node string
	pods []*Pod
}

func (u unchangedNode) String() string {
	return fmt.Sprintf("check that the %d pods of node/%s are unchanged", len(u.pods), u.node)
}

func (u unchangedNode) Check(ctx context.Context, exec *action.Executor) error {
	observed := map[types.UID]bool{}
	for _, p := range u.pods {
		observed[p.UID] = true
	}
	options := metav1.ListOptions{FieldSelector: fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", u.node),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	).String()}
	for current, err := range client.Of[*metav1.PartialObjectMetadata](exec.Client, pods.Resource).All(ctx, "",
		options) {
		if err != nil {
			return err
		}
		if !observed[current.UID] {
			return fmt.Errorf("%w: it does not show pod/%s on node/%s", action.ErrStaleCache, current.Name, u.node)
		}
		delete(observed, current.UID)
	}
	for _, p := range u.pods {
		if observed[p.UID] && p.Spec.NodeName != "" { // a pod with a reservation may be bound at any moment
			return fmt.Errorf("%w: pod/%s has left node/%s", action.ErrStaleCache, p.Name, u.node)
		}
	}
	return nil
}
