package core

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
)

// validateVolumeAffinity validates the node affinity. lenient allows values that are not valid label values.
func validateVolumeAffinity(a *corev1.VolumeNodeAffinity, lenient bool, path *field.Path) field.ErrorList {
	required := path.Child("required")
	if a.Required == nil {
		return field.ErrorList{field.Required(required, "must specify required node constraints")}
	}
	return podspec.ValidateNodeSelector(a.Required, !lenient, math.MaxInt, required)
}

// hasInvalidAffinityValue reports whether a volume was stored under older, weaker rules for the values of its node
// affinity. Its updates may retain these values.
func hasInvalidAffinityValue(old *corev1.PersistentVolume) bool {
	if old == nil || old.Spec.NodeAffinity == nil || old.Spec.NodeAffinity.Required == nil {
		return false
	}
	invalid := func(value string) bool { return len(validation.IsValidLabelValue(value)) > 0 }
	for _, term := range old.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			if slices.ContainsFunc(r.Values, invalid) {
				return true
			}
		}
	}
	return false
}

// stableLabels maps beta labels of nodes to the stable labels that replaced them.
var stableLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
}

// validateAffinityUpdate allows one change of the node affinity: a stable label may replace a beta label.
func validateAffinityUpdate(a, old *corev1.VolumeNodeAffinity) field.ErrorList {
	if equality.Semantic.DeepEqual(a, withStableLabels(old, a)) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("nodeAffinity"), podspec.Layout(a),
		apivalidation.FieldImmutableErrorMsg+", except for updating from beta label to GA")}
}

// withStableLabels returns a copy of old in which each beta label is replaced if a has the stable label in its place.
// As in Kubernetes, an empty key may also be in the place of a label without a stable one: it is only invalid.
func withStableLabels(old, a *corev1.VolumeNodeAffinity) *corev1.VolumeNodeAffinity {
	if a == nil || a.Required == nil || old.Required == nil {
		return old
	}
	old = old.DeepCopy()
	for i := range min(len(old.Required.NodeSelectorTerms), len(a.Required.NodeSelectorTerms)) {
		was, is := old.Required.NodeSelectorTerms[i].MatchExpressions, a.Required.NodeSelectorTerms[i].MatchExpressions
		for j := range min(len(was), len(is)) {
			if stableLabels[was[j].Key] == is[j].Key {
				was[j].Key = is[j].Key
			}
		}
	}
	return old
}
