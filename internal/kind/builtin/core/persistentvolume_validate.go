package core

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// maxVolumeErrors is the number of errors after which the rest of a list is not validated. A response lists fewer.
const maxVolumeErrors = 1000

func validatePersistentVolume(v, old *corev1.PersistentVolume, sub string) field.ErrorList {
	errs := fieldcheck.Finalizers(v)
	if sub == "status" {
		return errs
	}
	errs = append(errs, validateVolumeSpec(v, hasInvalidAffinityValue(old), field.NewPath("spec"))...)
	errs = append(errs, validateMountOptions(v)...)
	if old == nil {
		return errs
	}
	return append(errs, validateVolumeUpdate(v, old)...)
}

func validateVolumeSpec(v *corev1.PersistentVolume, lenient bool, at *field.Path) field.ErrorList {
	spec := &v.Spec
	errs := validateVolumeAccessModes(spec.AccessModes, at.Child("accessModes"))
	errs = append(errs, validateVolumeCapacity(spec.Capacity, at.Child("capacity"))...)
	if spec.PersistentVolumeReclaimPolicy != "" {
		errs = append(errs, fieldcheck.OneOf(at.Child("persistentVolumeReclaimPolicy"),
			spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	if spec.NodeAffinity != nil {
		errs = append(errs, validateVolumeAffinity(spec.NodeAffinity, lenient, at.Child("nodeAffinity"))...)
	}
	errs = append(errs, validateVolumeSources(spec, v.Name, spec.NodeAffinity != nil, at)...)
	if spec.StorageClassName != "" {
		errs = append(errs, fieldcheck.ObjectName(at.Child("storageClassName"), spec.StorageClassName, false)...)
	}
	if spec.VolumeMode != nil {
		errs = append(errs, fieldcheck.OneOf(at.Child("volumeMode"), *spec.VolumeMode,
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return append(errs, validateVolumeAttributes(spec, at)...)
}

// ValidateInlineVolumeSpec validates the spec of a volume in a volume attachment. The volume must have the source csi.
func ValidateInlineVolumeSpec(spec *corev1.PersistentVolumeSpec, at *field.Path) (errs field.ErrorList) {
	const inline = "in the context of inline volumes"
	forbid := func(set bool, name, rule string) {
		if set {
			errs = append(errs, field.Forbidden(at.Child(name), rule+" "+inline))
		}
	}
	forbid(spec.ClaimRef != nil, "claimRef", "may not be specified")
	forbid(len(spec.Capacity) != 0, "capacity", "may not be specified")
	if spec.CSI == nil {
		errs = append(errs, field.Required(at.Child("csi"), "has to be specified "+inline))
	}
	errs = append(errs, validateVolumeAccessModes(spec.AccessModes, at.Child("accessModes"))...)
	policy := spec.PersistentVolumeReclaimPolicy
	forbid(policy != "" && policy != corev1.PersistentVolumeReclaimRetain, "persistentVolumeReclaimPolicy",
		"may only be Retain")
	forbid(spec.NodeAffinity != nil, "nodeAffinity", "may not be specified")
	errs = append(errs, validateVolumeSources(spec, "", false, at)...)
	forbid(spec.StorageClassName != "", "storageClassName", "may not be specified")
	forbid(spec.VolumeMode != nil && *spec.VolumeMode != corev1.PersistentVolumeFilesystem, "volumeMode",
		"may not specify volumeMode other than Filesystem")
	return errs
}

func validateVolumeAccessModes(modes []corev1.PersistentVolumeAccessMode, at *field.Path) (errs field.ErrorList) {
	supported := []corev1.PersistentVolumeAccessMode{
		corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod,
	}
	if len(modes) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	shared := false
	for _, mode := range modes {
		switch {
		case slices.Contains(supported, mode):
			shared = shared || mode != corev1.ReadWriteOncePod
		case len(errs) < maxVolumeErrors:
			errs = append(errs, field.NotSupported(at, mode, supported))
		}
	}
	if shared && slices.Contains(modes, corev1.ReadWriteOncePod) {
		errs = append(errs, field.Forbidden(at, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

func validateVolumeCapacity(capacity corev1.ResourceList, at *field.Path) (errs field.ErrorList) {
	if len(capacity) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(at, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range fieldcheck.SortedKeys(capacity) {
		if len(errs) >= maxVolumeErrors {
			break
		}
		errs = append(errs, validateAmount(capacity, name, at)...)
		if q := capacity[name]; q.Sign() <= 0 {
			errs = append(errs, field.Invalid(at.Key(string(name)), q.String(), "must be greater than zero"))
		}
	}
	return errs
}

func validateVolumeAttributes(spec *corev1.PersistentVolumeSpec, at *field.Path) (errs field.ErrorList) {
	class, name := at.Child("volumeAttributesClassName"), spec.VolumeAttributesClassName
	switch {
	case name == nil:
		return nil
	case *name == "":
		errs = append(errs, field.Required(class, "an empty string is disallowed"))
	default:
		errs = append(errs, fieldcheck.ObjectName(class, *name, false)...)
	}
	if spec.CSI == nil {
		errs = append(errs, field.Required(at.Child("csi"),
			"has to be specified when using volumeAttributesClassName"))
	}
	return errs
}

// validateMountOptions rejects the old annotation for mount options, except for volumes whose source supports it.
func validateMountOptions(v *corev1.PersistentVolume) field.ErrorList {
	s := &v.Spec.PersistentVolumeSource
	uses := s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil ||
		s.RBD != nil || s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil ||
		s.AzureFile != nil || s.VsphereVolume != nil || s.AzureDisk != nil || s.PhotonPersistentDisk != nil
	if _, ok := v.Annotations[corev1.MountOptionAnnotation]; !ok || uses {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionAnnotation),
		"may not specify mount options for this volume type")}
}

// validateVolumeUpdate rejects changes of the source, the mode and the node affinity of a volume.
func validateVolumeUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	at := field.NewPath("spec")
	errs := validateSourceUpdate(&v.Spec.PersistentVolumeSource, &old.Spec.PersistentVolumeSource,
		at.Child("persistentvolumesource"))
	errs = append(errs, apivalidation.ValidateImmutableField(v.Spec.VolumeMode, old.Spec.VolumeMode,
		field.NewPath("volumeMode"))...)
	if old.Spec.NodeAffinity != nil {
		errs = append(errs, validateAffinityUpdate(v.Spec.NodeAffinity, old.Spec.NodeAffinity)...)
	}
	if old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(at.Child("volumeAttributesClassName"),
			"update from non-nil value to nil is forbidden"))
	}
	return errs
}

// maxDiffed is the maximum size of two sources, in bytes, for which an error shows the difference. The time to compute
// it grows faster than the size.
const maxDiffed = 64 << 10

// validateSourceUpdate allows one change of a source: an update may add the secret for the expansion of a CSI volume.
func validateSourceUpdate(source, was *corev1.PersistentVolumeSource, at *field.Path) field.ErrorList {
	if source.CSI != nil && was.CSI != nil && was.CSI.ControllerExpandSecretRef == nil {
		csi := *source.CSI
		csi.ControllerExpandSecretRef = nil
		source = new(*source)
		source.CSI = &csi
	}
	if equality.Semantic.DeepEqual(source, was) {
		return nil
	}
	before, after, changes := podspec.Layout(was), podspec.Layout(source), ""
	if len(before)+len(after) <= maxDiffed {
		changes = diff.Diff(before, after)
	}
	return field.ErrorList{field.Forbidden(at, fmt.Sprintf("%s is immutable after creation\n%v", at, changes))}
}

// recyclesRoot reports whether recycling the volume would delete all files of a node.
func recyclesRoot(spec *corev1.PersistentVolumeSpec) bool {
	return spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle
}
