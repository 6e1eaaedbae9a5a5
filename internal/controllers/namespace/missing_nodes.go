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
		p.failed(resource, err)
		return
	}
	p.failed(resource, checkComplete(listed))
	var forsaken []*corev1.Pod
	known := map[string]error{}
	for _, pod := range listed.Items {
		lost, err := p.onMissingNode(ctx, pod, known)
		if err != nil {
			p.failed(resource, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
		if lost {
			forsaken = append(forsaken, pod)
		}
		if !lost || len(pod.Finalizers) > 0 {
			p.left.add(resource, pod)
		}
	}
	if len(forsaken) > 0 {
		p.failed(resource, p.deleteAtOnce(ctx, forsaken))
	}
}

// onMissingNode reports whether a pod is terminating and its node does not exist. known caches the results by
// node name.
func (p *pass) onMissingNode(ctx context.Context, pod *corev1.Pod, known map[string]error) (bool, error) {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return false, nil
	}
	on := pod.Spec.NodeName
	err, ok := known[on]
	if !ok {
		_, err = client.Of[*metav1.PartialObjectMetadata](p.client, nodes).Get(ctx, "", on)
		known[on] = err
	}
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// deleteAtOnce deletes pods without grace period.
func (p *pass) deleteAtOnce(ctx context.Context, forsaken []*corev1.Pod) error {
	if err := p.confirm(ctx); err != nil {
		return err
	}
	var failed []error
	for _, pod := range forsaken {
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64),
			Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
		err := client.Of[*corev1.Pod](p.client, pods).Delete(ctx, p.namespace.Name, pod.Name, now)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(failed...)
}
