package admissionregistration

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// Limits of a policy or binding. Kubernetes has none, except for the size of an object.
const (
	maxValues      = 10_000  // in rules, selectors and lists: each may cause an error, which takes a microsecond
	maxExpressions = 500     // compiling one takes up to a millisecond
	maxRepetitions = 500_000 // of regular expressions: x{1000} has a thousand
)

// policyCosts are the costs of validating a policy or binding.
type policyCosts struct{ values, expressions, compiling, repetitions int }

// costlyPolicy returns an error for a policy that takes more than a second to validate. old is nil on create. An update
// may have the costs of the stored policy, which another server may have accepted.
func costlyPolicy(v, old *policyView, path *field.Path) *field.Error {
	limit := policyCosts{maxValues, maxExpressions, expression.MaxCompileCost, maxRepetitions}
	if old != nil {
		before := costsOf(old)
		limit = policyCosts{max(limit.values, before.values), max(limit.expressions, before.expressions),
			max(limit.compiling, before.compiling), max(limit.repetitions, before.repetitions)}
	}
	cost := costsOf(v)
	var problem string
	switch {
	case cost.values > limit.values:
		return tooManyValues(cost.values, limit.values, path)
	case cost.expressions > limit.expressions:
		problem = fmt.Sprintf("the policy has %d CEL expressions: at most %d are allowed", cost.expressions,
			limit.expressions)
	case cost.compiling > limit.compiling:
		problem = fmt.Sprintf("the CEL expressions are too long to compile, or their types too large: they cost "+
			"%d, and may cost %d", cost.compiling, limit.compiling)
	case cost.repetitions > limit.repetitions:
		problem = fmt.Sprintf("the regular expressions are too large to compile: repetitions such as {1000} add up to "+
			"%d, and may add up to %d", cost.repetitions, limit.repetitions)
	default:
		return nil
	}
	return field.Invalid(path, field.OmitValueType{}, problem)
}

func costsOf(v *policyView) policyCosts {
	c := policyCosts{values: matchValues(v.match)}
	for _, s := range v.sources() {
		c.expressions++
		c.compiling += expression.CompileCost(s.written)
		c.repetitions += expression.Repetitions(s.written)
	}
	return c
}

func tooManyValues(n, most int, path *field.Path) *field.Error {
	return field.Invalid(path, field.OmitValueType{},
		fmt.Sprintf("the rules and selectors have %d values in all: at most %d are allowed", n, most))
}

// matchValues returns the number of values in rules and selectors.
func matchValues(m *admissionv1.MatchResources) (n int) {
	if m == nil {
		return 0
	}
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			r := &rules[i]
			n += 1 + len(r.ResourceNames) + len(r.Operations) + len(r.APIGroups) + len(r.APIVersions) + len(r.Resources)
		}
	}
	return n + selectorValues(m.NamespaceSelector) + selectorValues(m.ObjectSelector)
}

func selectorValues(s *metav1.LabelSelector) int {
	if s == nil {
		return 0
	}
	n := len(s.MatchLabels)
	for i := range s.MatchExpressions {
		n += 1 + len(s.MatchExpressions[i].Values)
	}
	return n
}
