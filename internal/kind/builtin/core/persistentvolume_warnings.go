package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// persistentVolumeWarnings warns about deprecated annotations, sources and reclaim policies, and about deprecated
// labels in the node affinity.
func persistentVolumeWarnings(v, _ *corev1.PersistentVolume) (warnings []string) {
	spec := field.NewPath("spec")
	warn := func(set bool, path *field.Path, message string) {
		if set {
			warnings = append(warnings, fmt.Sprintf("%s: %s", path, message))
		}
	}
	annotated := func(key, message string) {
		_, set := v.Annotations[key]
		warn(set, field.NewPath("metadata", "annotations").Key(key), message)
	}
	annotated(corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`)
	annotated(corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`)
	warn(v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle,
		spec.Child("persistentVolumeReclaimPolicy"),
		"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	if a := v.Spec.NodeAffinity; a != nil && a.Required != nil {
		for i, term := range a.Required.NodeSelectorTerms {
			at := spec.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i).Child("matchExpressions")
			for j, r := range term.MatchExpressions {
				if message, deprecated := podspec.DeprecatedNodeLabel(r.Key); deprecated {
					warn(true, at.Index(j).Child("key"), r.Key+" is "+message)
				}
			}
		}
	}
	source := &v.Spec.PersistentVolumeSource
	warn(source.CephFS != nil, spec.Child("cephfs"), "deprecated in v1.28, non-functional in v1.31+")
	warn(source.PhotonPersistentDisk != nil, spec.Child("photonPersistentDisk"),
		"deprecated in v1.11, non-functional in v1.16+")
	warn(source.ScaleIO != nil, spec.Child("scaleIO"), "deprecated in v1.16, non-functional in v1.22+")
	warn(source.StorageOS != nil, spec.Child("storageOS"), "deprecated in v1.22, non-functional in v1.25+")
	warn(source.Glusterfs != nil, spec.Child("glusterfs"), "deprecated in v1.25, non-functional in v1.26+")
	warn(source.RBD != nil, spec.Child("rbd"), "deprecated in v1.28, non-functional in v1.31+")
	return warnings
}
