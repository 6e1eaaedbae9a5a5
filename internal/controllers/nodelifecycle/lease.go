package nodelifecycle

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// renewed returns when a lease was renewed; the zero time for nil.
func renewed(lease *coordinationv1.Lease) time.Time {
	if lease == nil || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}

// unrenewed verifies with the server that a node's lease was not renewed since it was observed.
type unrenewed struct {
	node     string
	observed *coordinationv1.Lease
}

func (u unrenewed) String() string {
	return "check that the lease of node/" + u.node + " is not renewed"
}

func (u unrenewed) Check(ctx context.Context, exec *action.Executor) error {
	lease, err := client.Of[*coordinationv1.Lease](exec.Client, leasesResource).Get(ctx, corev1.NamespaceNodeLease,
		u.node)
	switch err = action.ClassifyNotFound(err, leasesResource, u.node); {
	case action.IsGone(err):
		return nil
	case err != nil:
		return err
	case !renewed(lease).Equal(renewed(u.observed)):
		return fmt.Errorf("%w: node/%s renewed its lease", action.ErrStaleCache, u.node)
	}
	return nil
}
