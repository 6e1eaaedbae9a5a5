package plugins

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/storage"
)

var storageClasses = schema.GroupResource{Group: storagev1.GroupName, Resource: "storageclasses"}

// claimClassBeta is the annotation that named the class of a claim before Kubernetes 1.6.
const claimClassBeta = corev1.BetaStorageClassAnnotation

// DefaultStorageClass sets the class of a claim that names none to the class that is marked as the default. If several
// are marked, the newest wins.
type DefaultStorageClass struct{}

// Name implements admission.Plugin.
func (DefaultStorageClass) Name() string { return "DefaultStorageClass" }

// Handles implements admission.Plugin.
func (DefaultStorageClass) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == volumeClaims && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin. An empty class means that the claim wants no class.
func (DefaultStorageClass) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.StorageClassName != nil {
		return nil
	}
	if _, named := claim.Annotations[claimClassBeta]; named {
		return nil
	}
	var chosen *storagev1.StorageClass
	err := state.List(ctx, storageClasses, "", func(obj kind.Object) bool {
		class, ok := obj.(*storagev1.StorageClass)
		if ok && storage.IsDefault(class) && (chosen == nil || cmp.Or(chosen.CreationTimestamp.Compare(class.CreationTimestamp.Time),
			cmp.Compare(class.Name, chosen.Name)) < 0) {
			chosen = class
		}
		return true
	})
	if chosen != nil {
		claim.Spec.StorageClassName = new(chosen.Name)
	}
	return err
}

// Validate implements admission.Plugin.
func (DefaultStorageClass) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// ResizeClaims rejects the growth of a claim whose class does not allow it (Kubernetes' PersistentVolumeClaimResize).
type ResizeClaims struct{}

// Name implements admission.Plugin.
func (ResizeClaims) Name() string { return "PersistentVolumeClaimResize" }

// Handles implements admission.Plugin.
func (ResizeClaims) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return resource == volumeClaims && sub == "" && op == admission.Update
}

// Admit implements admission.Plugin.
func (ResizeClaims) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin.
func (ResizeClaims) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	old, had := a.Old.(*corev1.PersistentVolumeClaim)
	if !ok || !had || old == nil {
		return nil
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(old.Spec.Resources.Requests[corev1.ResourceStorage]) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return a.Forbidden("Only bound persistent volume claims can be expanded")
	}
	name := claimClass(claim)
	if name != "" && name == claimClass(old) {
		obj, err := state.Get(ctx, storageClasses, "", name)
		if err != nil {
			return err
		}
		if class, ok := obj.(*storagev1.StorageClass); ok && class.AllowVolumeExpansion != nil &&
			*class.AllowVolumeExpansion {
			return nil
		}
	}
	return a.Forbidden("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc " +
		"must support resize")
}

// claimClass returns the name of a claim's class, or "".
func claimClass(claim *corev1.PersistentVolumeClaim) string {
	if name, named := claim.Annotations[claimClassBeta]; named {
		return name
	}
	if name := claim.Spec.StorageClassName; name != nil {
		return *name
	}
	return ""
}
