package plugins

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// protections are the finalizers of new objects. The controllers pvc-protection and pv-protection remove them from
// deleted objects that are no longer used.
var protections = map[schema.GroupResource]string{
	volumeClaims: "kubernetes.io/pvc-protection",
	volumes:      "kubernetes.io/pv-protection",
}

var volumes = schema.GroupResource{Resource: "persistentvolumes"}

// ProtectStorage adds a finalizer to new volumes and claims, so that they are not removed while they are used
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
