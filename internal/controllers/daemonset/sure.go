package daemonset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// onNode is an action that follows from what a node is to pods. It asks the server first whether the node is that still: of two
// controllers, one of which sees nodes late, each would undo what the other does about a node that has come, gone or become
// another.
type onNode struct {
	action.Action
	place place
	node  string
	is    standing
}

func (o onNode) Do(ctx context.Context, by *action.Hand) error {
	if err := action.Soon(func() error { return o.check(ctx, by) }); err != nil {
		return err
	}
	return o.Action.Do(ctx, by)
}

func (o onNode) check(ctx context.Context, by *action.Hand) error {
	var is standing
	node, err := client.Of[*corev1.Node](by.Client, nodesResource).Get(ctx, "", o.node)
	switch err = action.Unserved(err, nodesResource, o.node); {
	case action.IsGone(err):
	case err != nil:
		return err
	default:
		is = o.place.of(node)
	}
	if is != o.is {
		return fmt.Errorf("%w: node/%s has changed", action.ErrBehind, o.node)
	}
	return nil
}

// leave deletes the pods of a node that is not for them.
func (d *daemons) leave(node string, is standing, there []*corev1.Pod) {
	for _, pod := range there {
		if pod.DeletionTimestamp == nil {
			d.remove = append(d.remove, onNode{d.deletion(pod), d.place, node, is})
		}
	}
}
