package plugins

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// checkPod lets an agent create and delete the mirror pods of its node, delete and evict its other pods, and write
// their status.
func (n nodeWrite) checkPod(ctx context.Context) error {
	switch n.Subresource {
	case "status":
		return n.checkPodStatus()
	case "eviction":
		return n.checkEviction(ctx)
	case "":
	default:
		return n.Forbidden("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", n.Subresource)
	}
	switch n.Operation {
	case admission.Create:
		return n.checkMirrorPod(ctx)
	case admission.Delete:
		pod, ok := n.Old.(*corev1.Pod)
		if !ok {
			return n.unexpectedType(n.Old)
		}
		if pod.Spec.NodeName != n.node {
			return n.Forbidden("node %q can only delete pods with spec.nodeName set to itself", n.node)
		}
		return nil
	}
	return n.Forbidden("unexpected operation %q, node %q can only create and delete mirror pods", n.Operation, n.node)
}

// checkMirrorPod rejects a pod that is no mirror pod of the node, or that uses other objects.
func (n nodeWrite) checkMirrorPod(ctx context.Context) error {
	pod, ok := n.Object.(*corev1.Pod)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	if !podspec.IsMirror(pod) {
		return n.Forbidden("pod does not have %q annotation, node %q can only create mirror pods",
			corev1.MirrorPodAnnotationKey, n.node)
	}
	if pod.Spec.NodeName != n.node {
		return n.Forbidden("node %q can only create pods with spec.nodeName set to itself", n.node)
	}
	if len(pod.OwnerReferences) > 1 {
		return n.Forbidden("node %q can only create pods with a single owner reference set to itself", n.node)
	}
	if len(pod.OwnerReferences) == 0 {
		return n.Forbidden("node %q can only create pods with an owner reference set to itself", n.node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != n.node:
		return n.Forbidden("node %q can only create pods with an owner reference set to itself", n.node)
	case owner.Controller == nil || !*owner.Controller:
		return n.Forbidden("node %q can only create pods with a controller owner reference set to itself", n.node)
	case blocksDeletion(owner):
		return n.Forbidden("node %q must not set blockOwnerDeletion on an owner reference", n.node)
	}
	obj, err := n.state.Get(ctx, nodes, "", n.node)
	if err != nil {
		return n.Forbidden("error looking up node %s to verify uid: %v", n.node, err)
	}
	if obj == nil {
		return apierrors.NewNotFound(nodes, n.node)
	}
	if owner.UID != obj.GetUID() {
		return n.Forbidden("node %s UID mismatch: expected %s got %s", n.node, owner.UID, obj.GetUID())
	}
	if resource := referencedResource(&pod.Spec); resource != "" {
		return n.Forbidden("node %q can not create pods that reference %s", n.node, resource)
	}
	return nil
}

// referencedResource returns the resource of an object that a pod uses, or an empty string.
func referencedResource(spec *corev1.PodSpec) string {
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts"
	case usesSecrets(spec):
		return "secrets"
	case usesConfigMaps(spec):
		return "configmaps"
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims"
	}
	for i := range spec.Volumes {
		if resource := volumeResource(&spec.Volumes[i].VolumeSource); resource != "" {
			return resource
		}
	}
	return ""
}

// volumeResource returns the resource of an object that a volume uses, or an empty string.
func volumeResource(v *corev1.VolumeSource) string {
	switch {
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)"
	case v.Secret != nil:
		return "secrets (via secret volumes)"
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)"
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)"
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims"
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)"
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)"
	case v.Projected == nil:
		return ""
	}
	for i := range v.Projected.Sources {
		switch s := &v.Projected.Sources[i]; {
		case s.ConfigMap != nil:
			return "configmaps (via projected volumes)"
		case s.Secret != nil:
			return "secrets (via projected volumes)"
		case s.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)"
		case s.ClusterTrustBundle != nil:
			return "clustertrustbundles"
		case s.PodCertificate != nil:
			return "podcertificates"
		}
	}
	return ""
}

// usesConfigMaps reports whether a pod names a ConfigMap.
func usesConfigMaps(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.InitContainers, containerUsesConfigMaps) ||
		slices.ContainsFunc(spec.Containers, containerUsesConfigMaps) ||
		slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
			return containerUsesConfigMaps(corev1.Container(c.EphemeralContainerCommon))
		}) ||
		slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
			if v.Projected != nil {
				return slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
					return s.ConfigMap != nil && s.ConfigMap.Name != ""
				})
			}
			return v.ConfigMap != nil && v.ConfigMap.Name != ""
		})
}

func containerUsesConfigMaps(c corev1.Container) bool {
	return slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool {
		return e.ConfigMapRef != nil && e.ConfigMapRef.Name != ""
	}) || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil && e.ValueFrom.ConfigMapKeyRef.Name != ""
	})
}

// checkPodStatus lets an agent write the status of the pods of its node, but not their labels or claims.
func (n nodeWrite) checkPodStatus() error {
	if n.Operation != admission.Update {
		return n.Forbidden("unexpected operation %q", n.Operation)
	}
	old, ok := n.Old.(*corev1.Pod)
	if !ok {
		return n.unexpectedType(n.Old)
	}
	if old.Spec.NodeName != n.node {
		return n.Forbidden("node %q can only update pod status for pods with spec.nodeName set to itself", n.node)
	}
	pod, ok := n.Object.(*corev1.Pod)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	is, was := &pod.Status, &old.Status
	switch {
	case !labels.Equals(old.Labels, pod.Labels):
		return n.Forbidden("node %q cannot update labels through pod status", n.node)
	case !equality.Semantic.DeepEqual(is.ResourceClaimStatuses, was.ResourceClaimStatuses):
		return n.Forbidden("node %q cannot update resource claim statues", n.node)
	case !equality.Semantic.DeepEqual(is.ExtendedResourceClaimStatus, was.ExtendedResourceClaimStatus):
		return n.Forbidden("node %q cannot update extended resource claim status", n.node)
	case !equality.Semantic.DeepEqual(is.NodeAllocatableResourceClaimStatuses, was.NodeAllocatableResourceClaimStatuses):
		return n.Forbidden("node %q cannot update node allocatable resource claim statuses", n.node)
	}
	return nil
}

// checkEviction lets an agent evict the pods of its node.
func (n nodeWrite) checkEviction(ctx context.Context) error {
	if n.Operation != admission.Create {
		return n.Forbidden("unexpected operation %s", n.Operation)
	}
	name := n.Name
	if name == "" && n.Object != nil {
		name = n.Object.GetName()
	}
	if name == "" {
		return n.Forbidden("could not determine pod from request data")
	}
	pod, err := n.pod(ctx, name)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != n.node {
		return n.Forbidden("node %s can only evict pods with spec.nodeName set to itself", n.node)
	}
	return nil
}

// pod returns a pod of the namespace, or a 404.
func (n nodeWrite) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	obj, err := n.state.Get(ctx, pods, n.Namespace, name)
	if err != nil {
		return nil, n.Forbidden("%w", err)
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod == nil {
		return nil, apierrors.NewNotFound(pods, name)
	}
	return pod, nil
}
