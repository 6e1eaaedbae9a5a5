package podspec

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// The field names of required and preferred affinity.
const (
	requiredField  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredField = "preferredDuringSchedulingIgnoredDuringExecution"
)

func validateAffinity(s *podScope, path *field.Path) (errs field.ErrorList) {
	a := s.spec.Affinity
	if a == nil {
		return nil
	}
	if a.NodeAffinity != nil {
		errs = append(errs, validateNodeAffinity(a.NodeAffinity, path.Child("nodeAffinity"))...)
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

func validateNodeAffinity(a *corev1.NodeAffinity, path *field.Path) (errs field.ErrorList) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		errs = ValidateNodeSelector(required, true, math.MaxInt, path.Child(requiredField))
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		term, at := &a.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(preferredField).Index(i)
		errs = append(errs, validateWeight(term.Weight, at)...)
		errs = append(errs, validateNodeTerm(&term.Preference, false, math.MaxInt, at.Child("preference"))...)
	}
	return errs
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight <= 0 || weight > 100 {
		return field.ErrorList{field.Invalid(path.Child("weight"), weight, "must be in the range 1-100")}
	}
	return nil
}

// ValidateNodeSelector validates a selector of nodes by label or name. strict requires the values of labels to be
// valid. The check of a list stops after most errors.
func ValidateNodeSelector(s *corev1.NodeSelector, strict bool, most int, path *field.Path) (errs field.ErrorList) {
	terms := path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	for i := range s.NodeSelectorTerms {
		if len(errs) >= most {
			break
		}
		errs = append(errs, validateNodeTerm(&s.NodeSelectorTerms[i], strict, most, terms.Index(i))...)
	}
	return errs
}

func validateNodeTerm(t *corev1.NodeSelectorTerm, strict bool, most int, path *field.Path) (errs field.ErrorList) {
	for i := range t.MatchExpressions {
		if len(errs) >= most {
			break
		}
		at := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateNodeRequirement(&t.MatchExpressions[i], strict, most, at)...)
	}
	for i := range t.MatchFields {
		if len(errs) >= most {
			break
		}
		errs = append(errs, validateNodeField(&t.MatchFields[i], most, path.Child("matchFields").Index(i))...)
	}
	return errs
}

func validateNodeRequirement(r *corev1.NodeSelectorRequirement, strict bool, most int,
	path *field.Path) (errs field.ErrorList) {
	values := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(values,
				"may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(values,
				"must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, metavalidation.ValidateLabelName(r.Key, path.Child("key"))...)
	for i, value := range r.Values {
		if !strict || len(errs) >= most {
			break
		}
		errs = append(errs, fieldcheck.Invalid(values.Index(i), value, validation.IsValidLabelValue(value))...)
	}
	return errs
}

// validateNodeField validates a match of a node's field, which can only be its name.
func validateNodeField(r *corev1.NodeSelectorRequirement, most int, path *field.Path) (errs field.ErrorList) {
	values := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(values,
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, value := range r.Values {
		if len(errs) >= most {
			break
		}
		errs = append(errs, fieldcheck.ObjectName(values.Index(i), value, false)...)
	}
	return errs
}

func validatePodTerms(required []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm,
	path *field.Path) (errs field.ErrorList) {
	for i := range required {
		errs = append(errs, validatePodTerm(&required[i], path.Child(requiredField).Index(i))...)
	}
	for i := range weighted {
		at := path.Child(preferredField).Index(i)
		errs = append(errs, validateWeight(weighted[i].Weight, at)...)
		errs = append(errs, validatePodTerm(&weighted[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func validatePodTerm(t *corev1.PodAffinityTerm, path *field.Path) (errs field.ErrorList) {
	strict := metavalidation.LabelSelectorValidationOptions{}
	errs = metavalidation.ValidateLabelSelector(t.LabelSelector, strict, path.Child("labelSelector"))
	errs = append(errs, metavalidation.ValidateLabelSelector(t.NamespaceSelector, strict,
		path.Child("namespaceSelector"))...)
	for _, name := range t.Namespaces {
		errs = append(errs, fieldcheck.LabelName(path.Child("namespace"), name)...)
	}
	errs = append(errs, validateTermKeys(t, path)...)
	if t.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, metavalidation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey"))...)
}

// validateTermKeys validates the keys of labels whose values a term takes from the pod itself.
func validateTermKeys(t *corev1.PodAffinityTerm, path *field.Path) (errs field.ErrorList) {
	keys := path.Child("matchLabelKeys")
	errs = validateLabelKeys(t.MatchLabelKeys, t.LabelSelector, keys)
	errs = append(errs, validateLabelKeys(t.MismatchLabelKeys, t.LabelSelector, path.Child("mismatchLabelKeys"))...)
	for i, key := range t.MatchLabelKeys {
		if countKey(t.LabelSelector, key) > 1 {
			errs = append(errs, field.Invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector"))
		}
	}
	for i, key := range t.MatchLabelKeys {
		if slices.Contains(t.MismatchLabelKeys, key) {
			errs = append(errs, field.Invalid(keys.Index(i), key,
				"exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	return errs
}

func validateLabelKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) (errs field.ErrorList) {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	for i, key := range keys {
		errs = append(errs, metavalidation.ValidateLabelName(key, path.Index(i))...)
	}
	return errs
}

// countKey returns the number of requirements for a label in a selector.
func countKey(selector *metav1.LabelSelector, key string) (n int) {
	if selector == nil {
		return 0
	}
	if _, ok := selector.MatchLabels[key]; ok {
		n++
	}
	for i := range selector.MatchExpressions {
		if selector.MatchExpressions[i].Key == key {
			n++
		}
	}
	return n
}
