package node

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
)

// statusInterval is the interval at which an unchanged node status is written.
const statusInterval = 5 * time.Minute

// membership is the agent's state of a node.
type membership struct {
	// registered is set once the node has existed: a node that is then deleted is not registered again.
	registered bool
	lease      *coordinationv1.Lease // as last written; nil if unknown
	renewAt    time.Time
}

// reconcileNode registers a node, and updates its status and its lease.
func (a *agent) reconcileNode(ctx context.Context, request controller.Request) (controller.Result, error) {
	member := a.members[request.Name]
	if member == nil {
		return controller.Result{}, nil
	}
	node, found := a.nodes.Indexer().Get(request)
	switch {
	case !found && member.registered, found && a.dead(node):
		return controller.Result{}, nil
	case !found:
		var err error
		if node, err = a.register(ctx, request.Name); apierrors.IsAlreadyExists(err) {
			return controller.Result{RequeueAfter: time.Second}, nil // the cache will show it
		} else if err != nil {
			return controller.Result{}, err
		}
		member.registered = true
	default:
		member.registered = true
		if err := a.refresh(ctx, node); err != nil {
			return controller.Result{}, err
		}
	}
	now := time.Now()
	if wait := member.renewAt.Sub(now); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if err := a.renew(ctx, member, node, now); err != nil {
		return controller.Result{}, err
	}
	wait := a.leaseInterval
	if member.renewAt.IsZero() {
		wait = firstDelayOf(node.Name, a.leaseInterval)
	}
	member.renewAt = now.Add(wait)
	return controller.Result{RequeueAfter: wait}, nil
}

// firstDelayOf returns the delay of a node's second heartbeat, such that the heartbeats of many nodes spread
// over the interval.
func firstDelayOf(name string, beat time.Duration) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(name))
	return beat/2 + time.Duration(h.Sum32())%max(beat/2, 1)
}

// register creates the Node.
func (a *agent) register(ctx context.Context, name string) (*corev1.Node, error) {
	return a.writeNode.Create(ctx, a.describe(name, time.Now()), metav1.CreateOptions{})
}

// describe returns the node with the status that it reports.
func (a *agent) describe(name string, now time.Time) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name}}}
	message := a.runtime.Describe(node)
	at := metav1.NewTime(now).Rfc3339Copy()
	for _, c := range []struct {
		kind            corev1.NodeConditionType
		is              corev1.ConditionStatus
		reason, message string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
			"kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID",
			"kubelet has sufficient PID available"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", message},
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: c.kind, Status: c.is, Reason: c.reason, Message: c.message, LastHeartbeatTime: at,
			LastTransitionTime: at,
		})
	}
	return node
}

// refresh updates the status of a node if it has changed or was not written for a while.
func (a *agent) refresh(ctx context.Context, node *corev1.Node) error {
	now := time.Now()
	fresh := node.DeepCopy()
	own := a.describe(node.Name, now).Status
	fresh.Status.Addresses, fresh.Status.NodeInfo = own.Addresses, own.NodeInfo
	fresh.Status.DeclaredFeatures = own.DeclaredFeatures
	setResources(&fresh.Status, own.Capacity)
	changed := !equality.Semantic.DeepEqual(fresh.Status, node.Status)
	for _, c := range own.Conditions {
		at := slices.IndexFunc(fresh.Status.Conditions, func(old corev1.NodeCondition) bool {
			return old.Type == c.Type
		})
		if at < 0 {
			fresh.Status.Conditions, changed = append(fresh.Status.Conditions, c), true
			continue
		}
		old := &fresh.Status.Conditions[at]
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		changed = changed || old.Status != c.Status || old.Reason != c.Reason ||
			now.Sub(old.LastHeartbeatTime.Time) >= statusInterval
		*old = c
	}
	if !changed {
		return nil
	}
	_, err := a.writeNode.UpdateStatus(ctx, fresh, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the event of the change triggers another reconcile
	}
	return err
}

// renew renews the node's lease.
func (a *agent) renew(ctx context.Context, member *membership, node *corev1.Node, now time.Time) error {
	lease, seconds := member.lease, int32(min(max(4*a.leaseInterval.Seconds(), 1), math.MaxInt32))
	if lease == nil {
		found, err := a.leases.Get(ctx, corev1.NamespaceNodeLease, node.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		lease = found
		if err != nil {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node.Name,
				Namespace: corev1.NamespaceNodeLease}}
		}
	}
	lease = lease.DeepCopy()
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &node.Name, &seconds
	at := metav1.NewMicroTime(now)
	lease.Spec.RenewTime = &at
	var err error
	if lease.ResourceVersion == "" {
		member.lease, err = a.leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		member.lease, err = a.leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		member.lease = nil // another client changed or deleted it: get it again
	}
	return err
}
