package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

func validateClaim(c, old *corev1.PersistentVolumeClaim, sub string) field.ErrorList {
	if sub == "status" {
		return validateClaimStatus(&c.Status)
	}
	errs, path := fieldcheck.Finalizers(c), field.NewPath("spec")
	if old == nil {
		return append(errs, podspec.ValidateClaimSpec(&c.Spec, nil, path)...)
	}
	errs = append(errs, podspec.ValidateClaimSpec(&c.Spec, &old.Spec, path)...)
	return append(errs, validateClaimUpdate(c, old)...)
}

// validateClaimUpdate rejects changes of the spec. A bound claim may request more storage, or another
// attributes class.
func validateClaimUpdate(c, old *corev1.PersistentVolumeClaim) (errs field.ErrorList) {
	path, fixed, was := field.NewPath("spec"), c.Spec.DeepCopy(), old.Spec.DeepCopy()
	nameDataSources(was)
	if was.VolumeName == "" {
		was.VolumeName = fixed.VolumeName // a claim may be bound once
	}
	errs = append(errs, fixClass(fixed, c, old)...)
	if c.Status.Phase == corev1.ClaimBound {
		if fixed.Resources.Requests != nil {
			fixed.Resources.Requests[corev1.ResourceStorage] = old.Spec.Resources.Requests[corev1.ResourceStorage]
		}
		fixed.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !equality.Semantic.DeepEqual(fixed, was) {
		errs = append(errs, field.Forbidden(path,
			fmt.Sprintf("spec is immutable after creation except resources.requests and "+
				"volumeAttributesClassName for bound claims\n%v",
				diff.Diff(podspec.Layout(was), podspec.Layout(fixed)))))
	}
	size, before := c.Spec.Resources.Requests[corev1.ResourceStorage],
		old.Spec.Resources.Requests[corev1.ResourceStorage]
	if has := old.Status.Capacity[corev1.ResourceStorage]; size.Cmp(before) < 0 && size.Cmp(has) <= 0 {
		errs = append(errs, field.Forbidden(path.Child("resources", "requests", "storage"),
			"field can not be less than status.capacity"))
	}
	errs = append(errs, apivalidation.ValidateImmutableField(c.Spec.VolumeMode, old.Spec.VolumeMode,
		field.NewPath("volumeMode"))...)
	return append(errs, validateAttributesUpdate(c, old, path.Child("volumeAttributesClassName"))...)
}

// fixClass resets the storage class in fixed if the update may set it. It rejects changes of the legacy
// annotation.
func fixClass(fixed *corev1.PersistentVolumeClaimSpec, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	was, had := old.Annotations[corev1.BetaStorageClassAnnotation]
	is, has := c.Annotations[corev1.BetaStorageClassAnnotation]
	gets := old.Spec.StorageClassName == nil && c.Spec.StorageClassName != nil &&
		(!had || *c.Spec.StorageClassName == was)
	if gets {
		fixed.StorageClassName = nil
	}
	if is == was || gets && had && !has {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", corev1.BetaStorageClassAnnotation),
		is,
		apivalidation.FieldImmutableErrorMsg)}
}

// validateAttributesUpdate rejects removing the attributes class of a volume that has one.
func validateAttributesUpdate(c, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	if old.Status.CurrentVolumeAttributesClassName == nil ||
		equality.Semantic.DeepEqual(c.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName) {
		return nil
	}
	const forbidden = "update to %s is forbidden when status.currentVolumeAttributesClassName is not nil"
	switch name := c.Spec.VolumeAttributesClassName; {
	case name == nil:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(forbidden, "nil"))}
	case *name == "":
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(forbidden, "empty string"))}
	}
	return nil
}

// resizes are the states of a volume that is being resized.
var resizes = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

func validateClaimStatus(s *corev1.PersistentVolumeClaimStatus) (errs field.ErrorList) {
	path := field.NewPath("status")
	for _, name := range fieldcheck.SortedKeys(s.Capacity) {
		errs = append(errs, validateAmount(s.Capacity, name, path.Child("capacity"))...)
	}
	states := path.Child("allocatedResourceStatuses")
	for _, name := range fieldcheck.SortedKeys(s.AllocatedResourceStatuses) {
		errs = append(errs, validateClaimResource(name, states)...)
		if state := s.AllocatedResourceStatuses[name]; len(fieldcheck.OneOf(states, state, resizes...)) > 0 {
			errs = append(errs, field.NotSupported(states, name, resizes))
		}
	}
	allocated := path.Child("allocatedResources")
	for _, name := range fieldcheck.SortedKeys(s.AllocatedResources) {
		if resourceErrs := validateClaimResource(name, allocated); len(resourceErrs) > 0 {
			errs = append(errs, resourceErrs...)
			continue
		}
		errs = append(errs, validateAmount(s.AllocatedResources, name, allocated)...)
	}
	return errs
}

func validateAmount(list corev1.ResourceList, name corev1.ResourceName, path *field.Path) field.ErrorList {
	if q := list[name]; q.Value() < 0 {
		return field.ErrorList{field.Invalid(path.Key(string(name)), q.Value(), "must be a valid resource quantity")}
	}
	return nil
}

// validateClaimResource accepts, of Kubernetes' own resources, only storage.
func validateClaimResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := fieldcheck.QualifiedName(path, string(name)); len(errs) > 0 {
		return errs
	}
	if podspec.IsNative(name) && name != corev1.ResourceStorage {
		return field.ErrorList{field.NotSupported(path, string(name), []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}
