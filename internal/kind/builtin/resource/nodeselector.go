package resource

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateNodeSelector validates a selector of nodes by label or name.
func validateNodeSelector(s *corev1.NodeSelector, path *field.Path) (errs field.ErrorList) {
	terms := path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	for i := range s.NodeSelectorTerms {
		if len(errs) >= enough {
			break
		}
		errs = append(errs, validateNodeTerm(&s.NodeSelectorTerms[i], terms.Index(i))...)
	}
	return errs
}

func validateNodeTerm(t *corev1.NodeSelectorTerm, path *field.Path) (errs field.ErrorList) {
	for i := range t.MatchExpressions {
		if len(errs) >= enough {
			break
		}
		errs = append(errs, validateNodeLabel(&t.MatchExpressions[i], path.Child("matchExpressions").Index(i))...)
	}
	for i := range t.MatchFields {
		if len(errs) >= enough {
			break
		}
		errs = append(errs, validateNodeField(&t.MatchFields[i], path.Child("matchFields").Index(i))...)
	}
	return errs
}

func validateNodeLabel(r *corev1.NodeSelectorRequirement, path *field.Path) (errs field.ErrorList) {
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
		if len(errs) >= enough {
			break
		}
		errs = append(errs, labelValue(values.Index(i), value)...)
	}
	return errs
}

// validateNodeField validates a match of a node's field, which can only be its name.
func validateNodeField(r *corev1.NodeSelectorRequirement, path *field.Path) (errs field.ErrorList) {
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
		if len(errs) >= enough {
			break
		}
		errs = append(errs, fieldcheck.ObjectName(values.Index(i), value, false)...)
	}
	return errs
}
