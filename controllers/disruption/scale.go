package disruption

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Scale is how many pods somebody wants.
type Scale struct {
	Of       types.UID
	Replicas int32
}

// scales finds what the controllers of pods want: of the kinds that Kubernetes has in the cache, of others by their subresource.
type scales struct {
	client       *client.Client
	deployments  *informer.Informer[*appsv1.Deployment]
	replicaSets  *informer.Informer[*appsv1.ReplicaSet]
	statefulSets *informer.Informer[*appsv1.StatefulSet]
	controllers  *informer.Informer[*corev1.ReplicationController]
}

func newScales(m *controller.Manager) *scales {
	return &scales{
		client:       m.Client(),
		deployments:  informer.For[*appsv1.Deployment](m.Informers(), appsv1.SchemeGroupVersion.WithResource("deployments")),
		replicaSets:  informer.For[*appsv1.ReplicaSet](m.Informers(), appsv1.SchemeGroupVersion.WithResource("replicasets")),
		statefulSets: informer.For[*appsv1.StatefulSet](m.Informers(), appsv1.SchemeGroupVersion.WithResource("statefulsets")),
		controllers:  informer.For[*corev1.ReplicationController](m.Informers(), corev1.SchemeGroupVersion.WithResource("replicationcontrollers")),
	}
}

// of finds what the controller of a pod wants; that of a replicaset, if it has one, is asked in its place.
func (s *scales) of(ctx context.Context, pod *corev1.Pod) (Scale, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	set, ok := found(s.replicaSets, pod.Namespace, ref, "ReplicaSet", "apps", "extensions")
	if ok {
		above := metav1.GetControllerOfNoCopy(set)
		if above == nil || above.Kind != "Deployment" {
			return scale(set, set.Spec.Replicas), nil
		}
		if d, ok := found(s.deployments, pod.Namespace, above, "Deployment", "apps", "extensions"); ok {
			return scale(d, d.Spec.Replicas), nil
		}
	}
	if set, ok := found(s.statefulSets, pod.Namespace, ref, "StatefulSet", "apps"); ok {
		return scale(set, set.Spec.Replicas), nil
	}
	if c, ok := found(s.controllers, pod.Namespace, ref, "ReplicationController", ""); ok {
		return scale(c, c.Spec.Replicas), nil
	}
	if of, ok, err := s.ask(ctx, pod.Namespace, ref); ok || err != nil {
		return of, err
	}
	return Scale{}, fmt.Errorf("found no controllers for pod %q", pod.Name)
}

func scale(of client.Object, replicas *int32) Scale {
	return Scale{of.GetUID(), ptr.Deref(replicas, 1)}
}

// found is the object that a reference names, when it is of a kind in one of the groups, and in the cache.
func found[T client.Object](in *informer.Informer[T], namespace string, ref *metav1.OwnerReference, kind string, groups ...string) (obj T, ok bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || ref.Kind != kind || !slices.Contains(groups, gv.Group) {
		return obj, false
	}
	obj, ok = in.Indexer().Get(informer.Key{Namespace: namespace, Name: ref.Name})
	return obj, ok && obj.GetUID() == ref.UID
}

// ask reads the scale subresource of an object of any kind. ok is false when the object is not there.
func (s *scales) ask(ctx context.Context, namespace string, ref *metav1.OwnerReference) (of Scale, ok bool, err error) {
	resource, err := s.scaled(ctx, ref)
	if err != nil {
		return of, false, err
	}
	is, err := client.Of[*metav1.PartialObjectMetadata](s.client, resource).Scale(ctx, namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err) || err == nil && is.UID != ref.UID:
		return of, false, nil
	case err != nil:
		return of, false, err
	}
	return Scale{is.UID, is.Spec.Replicas}, true, nil
}

// scaled is the resource of a kind, which must have scales.
func (s *scales) scaled(ctx context.Context, ref *metav1.OwnerReference) (schema.GroupVersionResource, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	list := &metav1.APIResourceList{}
	path := "/apis/" + ref.APIVersion
	if kind.Group == "" {
		path = "/api/" + ref.APIVersion
	}
	if err := s.client.REST().Get().AbsPath(path).Do(ctx).Into(list); err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("no matches for kind %q in version %q: %w", kind.Kind, ref.APIVersion, err)
	}
	for _, r := range list.APIResources {
		if r.Kind != kind.Kind {
			continue
		}
		if !slices.ContainsFunc(list.APIResources, func(sub metav1.APIResource) bool { return sub.Name == r.Name+"/scale" }) {
			return schema.GroupVersionResource{}, fmt.Errorf("%s does not implement the scale subresource",
				schema.GroupResource{Group: kind.Group, Resource: r.Name})
		}
		return kind.GroupVersion().WithResource(r.Name), nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("no matches for kind %q in version %q", kind.Kind, ref.APIVersion)
}
