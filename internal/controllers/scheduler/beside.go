package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// unchanged asks the server whether the pods on a node are those that were seen there. It stands before some of them are told to
// leave, which follows from all of them: the cache may not show yet that there is room.
type unchanged struct {
	node string
	pods []*Pod
}

func (u unchanged) String() string {
	return fmt.Sprintf("make sure that the %d pods of node/%s are as they were seen", len(u.pods), u.node)
}

func (u unchanged) Ask(ctx context.Context, by *action.Hand) error {
	seen := map[types.UID]bool{}
	for _, p := range u.pods {
		seen[p.UID] = true
	}
	options := metav1.ListOptions{FieldSelector: fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", u.node),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	).String()}
	for is, err := range client.Of[*metav1.PartialObjectMetadata](by.Client, pods.Resource).All(ctx, "", options) {
		if err != nil {
			return err
		}
		if !seen[is.UID] {
			return fmt.Errorf("%w: it does not show pod/%s on node/%s", action.ErrBehind, is.Name, u.node)
		}
		delete(seen, is.UID)
	}
	for _, p := range u.pods {
		if seen[p.UID] && p.Spec.NodeName != "" { // one that was just given the node may be bound in a moment
			return fmt.Errorf("%w: pod/%s has left node/%s", action.ErrBehind, p.Name, u.node)
		}
	}
	return nil
}
