package daemonset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// onNode is an action that depends on how a node matches the template. It first checks with the server that
// the match has not changed. Otherwise, of two controllers, one with a stale node cache would keep undoing
// the other's actions for a node that was added, changed or deleted.
type onNode struct {
	action.Action
	place place
	node  string
	is    standing
}

func (o onNode) Do(ctx context.Context, by *action.Executor) error {
	if err := action.RetryIfSlow(func() error { return o.check(ctx, by) }); err != nil {
		return err
	}
	return o.Action.Do(ctx, by)
}

func (o onNode) check(ctx context.Context, by *action.Executor) error {
	var is standing
	node, err := client.Of[*corev1.Node](by.Client, nodesResource).Get(ctx, "", o.node)
	switch err = action.ClassifyNotFound(err, nodesResource, o.node); {
	case action.IsGone(err):
	case err != nil:
		return err
	default:
		is = o.place.of(node)
	}
	if is != o.is {
		return fmt.Errorf("%w: node/%s has changed", action.ErrStaleCache, o.node)
	}
	return nil
}

// leave deletes the pods of a node that must not run them. is is the observed standing of the node.
func (d *daemons) leave(node string, is standing, there []*corev1.Pod) {
	for _, pod := range there {
		if pod.DeletionTimestamp == nil {
			d.remove = append(d.remove, onNode{d.deletion(pod), d.place, node, is})
		}
	}
}
