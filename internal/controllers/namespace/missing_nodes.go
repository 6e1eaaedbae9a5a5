package namespace

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/discovery"
)

var (
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// deleteOnMissingNodes deletes, without grace period, the terminating pods whose node does not exist: no kubelet
// would ever delete them. It records the pods that remain.
func (p *pass) deleteOnMissingNodes(ctx context.Context, resource discovery.Resource) {
	listed, err := client.Of[*corev1.Pod](p.client, pods).Uninitialized().List(ctx, p.namespace.Name,
		metav1.ListOptions{})
	if err != nil {
		p.addError(resource, err)
		return
	}
	p.addError(resource, checkComplete(listed))
	var lost []*corev1.Pod
	nodeErrors := map[string]error{}
	for _, pod := range listed.Items {
		nodeMissing, err := p.onMissingNode(ctx, pod, nodeErrors)
		if err != nil {
			p.addError(resource, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
		if nodeMissing {
			lost = append(lost, pod)
		}
		if !nodeMissing || len(pod.Finalizers) > 0 {
			p.left.add(resource, pod)
		}
	}
	if len(lost) > 0 {
		p.addError(resource, p.deleteAtOnce(ctx, lost))
	}
}

// onMissingNode reports whether a pod is terminating and its node does not exist. nodeErrors caches the results by
// node name.
func (p *pass) onMissingNode(ctx context.Context, pod *corev1.Pod, nodeErrors map[string]error) (bool, error) {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return false, nil
	}
	node := pod.Spec.NodeName
	err, ok := nodeErrors[node]
	if !ok {
		_, err = client.Of[*metav1.PartialObjectMetadata](p.client, nodes).Get(ctx, "", node)
		nodeErrors[node] = err
	}
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// deleteAtOnce deletes pods without grace period.
func (p *pass) deleteAtOnce(ctx context.Context, lost []*corev1.Pod) error {
	if err := p.confirm(ctx); err != nil {
		return err
	}
	var failed []error
	for _, pod := range lost {
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64),
			Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
		err := client.Of[*corev1.Pod](p.client, pods).Delete(ctx, p.namespace.Name, pod.Name, now)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(failed...)
}
