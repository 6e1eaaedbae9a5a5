package daemonset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// nodeGuard is an action that depends on how a node matches the template. It first checks with the server that
// the match has not changed. Otherwise, of two controllers, one with a stale node cache would keep undoing
// the other's actions for a node that was added, changed or deleted.
type nodeGuard struct {
	action.Action
	eligibility eligibility
	node        string
	observed    nodeMatch
}

func (o nodeGuard) Do(ctx context.Context, exec *action.Executor) error {
	if err := action.RetryIfSlow(func() error { return o.check(ctx, exec) }); err != nil {
		return err
	}
	return o.Action.Do(ctx, exec)
}

func (o nodeGuard) check(ctx context.Context, exec *action.Executor) error {
	var current nodeMatch
	node, err := client.Of[*corev1.Node](exec.Client, nodesResource).Get(ctx, "", o.node)
	switch err = action.ClassifyNotFound(err, nodesResource, o.node); {
	case action.IsGone(err):
	case err != nil:
		return err
	default:
		current = o.eligibility.match(node)
	}
	if current != o.observed {
		return fmt.Errorf("%w: node/%s has changed", action.ErrStaleCache, o.node)
	}
	return nil
}
