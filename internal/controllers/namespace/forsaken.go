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
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

var (
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// deleteForsaken deletes, without any grace period, the pods that are being deleted and whose node does not exist:
// nobody would ever end them. It counts those that stay.
func (p *pass) deleteForsaken(ctx context.Context, resource resources.Resource) {
	listed, err := client.Of[*corev1.Pod](p.client, pods).Uninitialized().List(ctx, p.namespace.Name, metav1.ListOptions{})
	if err != nil {
		p.failed(resource, err)
		return
	}
	p.failed(resource, whole(listed))
	var forsaken []*corev1.Pod
	known := map[string]error{}
	for _, pod := range listed.Items {
		lost, err := p.isForsaken(ctx, pod, known)
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

// isForsaken says whether a pod is to end and nobody is there to end it. The nodes that are known are not asked for again.
func (p *pass) isForsaken(ctx context.Context, pod *corev1.Pod, known map[string]error) (bool, error) {
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

// deleteAtOnce deletes pods of the namespace that nobody runs.
func (p *pass) deleteAtOnce(ctx context.Context, forsaken []*corev1.Pod) error {
	if err := p.sure(ctx); err != nil {
		return err
	}
	var failed []error
	for _, pod := range forsaken {
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
		err := client.Of[*corev1.Pod](p.client, pods).Delete(ctx, p.namespace.Name, pod.Name, now)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(failed...)
}
