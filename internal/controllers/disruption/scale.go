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

// Scale is how many pods a controller object wants.
type Scale struct {
	Owner    types.UID
	Replicas int32
}

// Resources that are cached; others are read by their scale subresource.
var (
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	controllers  = corev1.SchemeGroupVersion.WithResource("replicationcontrollers")
)

// resourceOf returns the cached resource that a reference names, in any version, or an empty one.
func resourceOf(ref *metav1.OwnerReference) (in schema.GroupVersionResource) {
	switch of := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind().String(); of {
	case "Deployment.apps", "Deployment.extensions":
		return deployments
	case "ReplicaSet.apps", "ReplicaSet.extensions":
		return replicaSets
	case "StatefulSet.apps":
		return statefulSets
	case "ReplicationController":
		return controllers
	}
	return in
}

// scales determines how many pods the controllers of pods want.
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
		deployments:  informer.For[*appsv1.Deployment](m.Informers(), deployments),
		replicaSets:  informer.For[*appsv1.ReplicaSet](m.Informers(), replicaSets),
		statefulSets: informer.For[*appsv1.StatefulSet](m.Informers(), statefulSets),
		controllers:  informer.For[*corev1.ReplicationController](m.Informers(), controllers),
	}
}

// cachedScale returns the scale of a pod's controller according to the cache. For a ReplicaSet of a Deployment, it is
// the Deployment's.
func (s *scales) cachedScale(ctx context.Context, pod *corev1.Pod) (Scale, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if set, ok := cachedOwner(s.replicaSets, pod.Namespace, ref); ok {
		parent := metav1.GetControllerOfNoCopy(set)
		if parent == nil || resourceOf(parent) != deployments {
			return scaleOf(set, set.Spec.Replicas), nil
		}
		if d, ok := cachedOwner(s.deployments, pod.Namespace, parent); ok {
			return scaleOf(d, d.Spec.Replicas), nil
		}
	}
	if set, ok := cachedOwner(s.statefulSets, pod.Namespace, ref); ok {
		return scaleOf(set, set.Spec.Replicas), nil
	}
	if c, ok := cachedOwner(s.controllers, pod.Namespace, ref); ok {
		return scaleOf(c, c.Spec.Replicas), nil
	}
	return s.requireScale(ctx, pod, ref)
}

func scaleOf(obj client.Object, replicas *int32) Scale {
	return Scale{obj.GetUID(), ptr.Deref(replicas, 1)}
}

// cachedOwner returns the object that a reference names, if it is cached.
func cachedOwner[T client.Object](in *informer.Informer[T], namespace string,
	ref *metav1.OwnerReference) (obj T, ok bool) {
	if resourceOf(ref) != in.Resource() {
		return obj, false
	}
	obj, ok = in.Indexer().Get(informer.Key{Namespace: namespace, Name: ref.Name})
	return obj, ok && obj.GetUID() == ref.UID
}

// liveScale returns the scale of a pod's controller according to the server: the cache may be stale.
func (s *scales) liveScale(ctx context.Context, pod *corev1.Pod) (Scale, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	parent, err := s.parent(ctx, pod.Namespace, ref)
	if err != nil {
		return Scale{}, err
	}
	if parent != nil && resourceOf(parent) == deployments {
		if result, ok, err := s.readScale(ctx, pod.Namespace, parent); ok || err != nil {
			return result, err
		}
	}
	return s.requireScale(ctx, pod, ref)
}

// parent returns the controller of a ReplicaSet, or nil for other kinds.
func (s *scales) parent(ctx context.Context, namespace string,
	ref *metav1.OwnerReference) (*metav1.OwnerReference, error) {
	if resourceOf(ref) != replicaSets {
		return nil, nil
	}
	set, err := client.Of[*metav1.PartialObjectMetadata](s.client, replicaSets).Get(ctx, namespace, ref.Name)
	if apierrors.IsNotFound(err) || err == nil && set.UID != ref.UID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return metav1.GetControllerOfNoCopy(set), nil
}

// requireScale returns the scale of a pod's controller according to the server. It fails if the controller does not
// exist.
func (s *scales) requireScale(ctx context.Context, pod *corev1.Pod, ref *metav1.OwnerReference) (Scale, error) {
	result, ok, err := s.readScale(ctx, pod.Namespace, ref)
	if err == nil && !ok {
		err = fmt.Errorf("found no controllers for pod %q", pod.Name)
	}
	return result, err
}

// readScale reads the scale subresource of an object of any kind. ok is false if the object does not exist.
func (s *scales) readScale(ctx context.Context, namespace string,
	ref *metav1.OwnerReference) (result Scale, ok bool, err error) {
	resource, err := s.scaleResource(ctx, ref)
	if err != nil {
		return result, false, err
	}
	scale, err := client.Of[*metav1.PartialObjectMetadata](s.client, resource).Scale(ctx, namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err) || err == nil && scale.UID != ref.UID:
		return result, false, nil
	case err != nil:
		return result, false, err
	}
	return Scale{scale.UID, scale.Spec.Replicas}, true, nil
}

// scaleResource returns the resource of a kind, and an error if it has no scale subresource.
func (s *scales) scaleResource(ctx context.Context, ref *metav1.OwnerReference) (schema.GroupVersionResource, error) {
	if in := resourceOf(ref); in.Resource != "" {
		return in, nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	list := &metav1.APIResourceList{}
	path := "/apis/" + ref.APIVersion
	if kind.Group == "" {
		path = "/api/" + ref.APIVersion
	}
	if err := s.client.REST().Get().AbsPath(path).Do(ctx).Into(list); err != nil {
		return schema.GroupVersionResource{},
			fmt.Errorf("no matches for kind %q in version %q: %w", kind.Kind, ref.APIVersion, err)
	}
	for _, r := range list.APIResources {
		if r.Kind != kind.Kind {
			continue
		}
		if !slices.ContainsFunc(list.APIResources, func(sub metav1.APIResource) bool {
			return sub.Name == r.Name+"/scale"
		}) {
			return schema.GroupVersionResource{}, fmt.Errorf("%s does not implement the scale subresource",
				schema.GroupResource{Group: kind.Group, Resource: r.Name})
		}
		return kind.GroupVersion().WithResource(r.Name), nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("no matches for kind %q in version %q", kind.Kind, ref.APIVersion)
}
