package plugins

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// protections are the finalizers of new objects. The controllers pvc-protection, pv-protection and
// volumeattributesclass-protection-controller remove them from deleted objects that are no longer used.
var protections = map[schema.GroupResource]string{
	volumeClaims:  "kubernetes.io/pvc-protection",
	volumes:       "kubernetes.io/pv-protection",
	volumeClasses: "kubernetes.io/vac-protection",
}

var (
	volumes       = schema.GroupResource{Resource: "persistentvolumes"}
	volumeClasses = schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}
)

// ProtectStorage adds a finalizer to new volumes, claims and classes, so that they are not removed while they are used
// (Kubernetes' StorageObjectInUseProtection).
type ProtectStorage struct{}

// Name implements admission.Plugin.
func (ProtectStorage) Name() string { return "StorageObjectInUseProtection" }

// Handles implements admission.Plugin.
func (ProtectStorage) Handles(op admission.Operation, resource schema.GroupResource, sub string) bool {
	return protections[resource] != "" && sub == "" && op == admission.Create
}

// Admit implements admission.Plugin.
func (ProtectStorage) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	finalizer, has := protections[a.Resource.GroupResource()], a.Object.GetFinalizers()
	if !slices.Contains(has, finalizer) {
		a.Object.SetFinalizers(append(has, finalizer))
	}
	return nil
}

// Validate implements admission.Plugin.
func (ProtectStorage) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// ProtectPodGroups does nothing (Kubernetes' PodGroupProtection): Kubernetes' plugin is on by default, but has an
// effect only with the feature gate GenericWorkload, which is off. Command lines may name the plugin.
type ProtectPodGroups struct{}

// Name implements admission.Plugin.
func (ProtectPodGroups) Name() string { return "PodGroupProtection" }

// Handles implements admission.Plugin.
func (ProtectPodGroups) Handles(admission.Operation, schema.GroupResource, string) bool { return false }

// Admit implements admission.Plugin.
func (ProtectPodGroups) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin.
func (ProtectPodGroups) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
