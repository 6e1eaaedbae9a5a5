package namespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/resources"
)

// content is what is in namespaces, of whatever kind.
type content struct {
	client *client.Client
}

var (
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// delete deletes what is in a namespace and says what is left: what finalizers or grace periods hold, and what could
// not be deleted. While there are pods, nothing else is deleted.
func (c content) delete(ctx context.Context, namespace string) *remains {
	left := &remains{}
	var found, others []resources.Resource
	found, left.discovery = resources.Discover(ctx, c.client)
	for _, resource := range found {
		if !resource.Namespaced || !resource.Serves("delete") {
			continue
		}
		if resource.GroupResource() != pods.GroupResource() {
			others = append(others, resource)
			continue
		}
		c.deleteAll(ctx, resource, namespace, left)
		c.deleteForsaken(ctx, namespace, left)
	}
	if left.any() || left.deletion != nil {
		return left
	}
	for _, resource := range others {
		c.deleteAll(ctx, resource, namespace, left)
	}
	return left
}

// deleteAll deletes the objects of one resource, and counts what is there afterwards.
func (c content) deleteAll(ctx context.Context, resource resources.Resource, namespace string, left *remains) {
	objects := client.Of[*metav1.PartialObjectMetadata](c.client, resource.GroupVersionResource).Uninitialized()
	if !resource.Serves("list") {
		left.failed(resource, c.deleteUnseen(ctx, resource, objects, namespace))
		return
	}
	listed, err := c.list(ctx, objects, namespace)
	if err == nil && len(listed) > 0 {
		left.failed(resource, c.deleteListed(ctx, resource, objects, namespace, listed))
		listed, err = c.list(ctx, objects, namespace)
	}
	left.failed(resource, err)
	for _, obj := range listed {
		left.add(resource, obj)
	}
}

// list reads what is there of a resource.
func (c content) list(ctx context.Context, objects client.Resource[*metav1.PartialObjectMetadata], namespace string) ([]*metav1.PartialObjectMetadata, error) {
	page, err := objects.List(ctx, namespace, metav1.ListOptions{})
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// isGone says that a resource is not served any more, as when its definition was deleted meanwhile: it has no objects.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) }

// deleteUnseen deletes objects that cannot be listed, and so cannot be waited for.
func (c content) deleteUnseen(ctx context.Context, resource resources.Resource, objects client.Resource[*metav1.PartialObjectMetadata], namespace string) error {
	if !resource.Serves("deletecollection") {
		return nil
	}
	err := objects.DeleteCollection(ctx, namespace, background(), metav1.ListOptions{})
	if isGone(err) {
		return nil
	}
	return err
}

// deleteListed deletes objects, together if the resource can do that.
func (c content) deleteListed(ctx context.Context, resource resources.Resource, objects client.Resource[*metav1.PartialObjectMetadata], namespace string, listed []*metav1.PartialObjectMetadata) error {
	if resource.Serves("deletecollection") {
		return objects.DeleteCollection(ctx, namespace, background(), metav1.ListOptions{})
	}
	for _, obj := range listed {
		if err := objects.Delete(ctx, namespace, obj.Name, background()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// background is how everything is deleted: an owner does not wait for what it owns, which is deleted too.
func background() metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
}

// deleteForsaken deletes, without any grace period, the pods that are being deleted and whose node does not exist:
// nobody would ever end them. left no longer counts those that go.
func (c content) deleteForsaken(ctx context.Context, namespace string, left *remains) {
	if !left.any() {
		return
	}
	all := client.Of[*corev1.Pod](c.client, pods)
	list, err := all.List(ctx, namespace, metav1.ListOptions{})
	if err != nil {
		left.failed(resources.Resource{GroupVersionResource: pods}, err)
		return
	}
	left.objects = nil
	for _, pod := range list.Items {
		forsaken, err := c.isForsaken(ctx, pod)
		if err == nil && forsaken {
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
			err = all.Delete(ctx, namespace, pod.Name, now)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			left.failed(resources.Resource{GroupVersionResource: pods}, fmt.Errorf("pod %s: %w", pod.Name, err))
		}
		if err != nil || !forsaken || len(pod.Finalizers) > 0 {
			left.add(resources.Resource{GroupVersionResource: pods}, &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
		}
	}
}

// isForsaken says whether a pod is to end and nobody is there to end it.
func (c content) isForsaken(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return false, nil
	}
	_, err := client.Of[*corev1.Node](c.client, nodes).Get(ctx, "", pod.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
