package rbac

import (
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// checkAggregation validates the selectors of an aggregation rule. If the old rule has an invalid selector, the errors
// of single values in expressions are omitted, but the selector is reported as invalid, as in Kubernetes.
func (r *report) checkAggregation(rule, old *rbacv1.AggregationRule) {
	if rule == nil {
		return
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(rule.ClusterRoleSelectors) == 0 {
		r.add(field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	lenient := sync.OnceValue(func() bool { return old != nil && hasInvalidSelector(old) })
	for i := range rule.ClusterRoleSelectors {
		if r.full() {
			return
		}
		at := path.Index(i)
		if !r.checkSelector(&rule.ClusterRoleSelectors[i], lenient, at) {
			r.add(field.Invalid(at, nil, "invalid label selector."))
		}
	}
}

func hasInvalidSelector(rule *rbacv1.AggregationRule) bool {
	var r report
	for i := range rule.ClusterRoleSelectors {
		if !r.checkSelector(&rule.ClusterRoleSelectors[i], func() bool { return true }, nil) {
			return true
		}
	}
	return false
}

// checkSelector validates a selector as ValidateLabelSelector of k8s.io/apimachinery does, but stops when the report is
// full, and reports labels sorted by key. valid reports whether LabelSelectorAsSelector accepts the selector. lenient
// is called for an invalid value of an expression; if it returns true, the value's errors are not added.
func (r *report) checkSelector(s *metav1.LabelSelector, lenient func() bool, path *field.Path) (valid bool) {
	before, complete := len(r.checked), true
	for _, key := range fieldcheck.SortedKeys(s.MatchLabels) {
		if r.full() {
			return false
		}
		at, value := path.Child("matchLabels"), s.MatchLabels[key]
		r.add(fieldcheck.QualifiedName(at, key)...)
		r.add(fieldcheck.Invalid(at, value, validation.IsValidLabelValue(value))...)
	}
	for i := range s.MatchExpressions {
		if r.full() {
			return false
		}
		if !r.checkRequirement(&s.MatchExpressions[i], lenient, path.Child("matchExpressions").Index(i)) {
			complete = false
		}
	}
	return complete && len(r.checked) == before
}

// checkRequirement validates an expression of a selector. complete is false if the errors of an invalid value were not
// added.
func (r *report) checkRequirement(e *metav1.LabelSelectorRequirement, lenient func() bool,
	path *field.Path) (complete bool) {
	values := path.Child("values")
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			r.add(field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			r.add(field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	default:
		r.add(field.Invalid(path.Child("operator"), e.Operator, "not a valid selector operator"))
	}
	r.add(fieldcheck.QualifiedName(path.Child("key"), e.Key)...)
	for i, value := range e.Values {
		messages := validation.IsValidLabelValue(value)
		if len(messages) == 0 {
			continue
		}
		if r.full() || lenient() {
			return false
		}
		r.add(fieldcheck.Invalid(values.Index(i), value, messages)...)
	}
	return true
}
