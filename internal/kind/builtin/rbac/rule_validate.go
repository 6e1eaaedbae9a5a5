package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkRules validates the rules of a role. changed reports whether the write creates or changes them.
func (r *report) checkRules(rules []rbacv1.PolicyRule, changed bool) {
	path := field.NewPath("rules")
	for i := range rules {
		if r.full() {
			return
		}
		r.checkRule(&rules[i], changed, element{path, i})
	}
}

// checkRule validates a rule for either resources or the paths of other URLs. Only cluster roles can have the latter,
// because such paths are outside any namespace.
func (r *report) checkRule(rule *rbacv1.PolicyRule, changed bool, at element) {
	if len(rule.Verbs) == 0 {
		r.require(at, "verbs", "verbs must contain at least one value", changed)
	}
	if len(rule.NonResourceURLs) > 0 {
		urls := at.child("nonResourceURLs")
		if r.namespaced {
			r.add(field.Invalid(urls, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
			r.add(field.Invalid(urls, rule.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
		}
		return
	}
	if len(rule.APIGroups) == 0 {
		r.add(field.Required(at.child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(rule.Resources) == 0 {
		r.add(field.Required(at.child("resources"), "resource rules must supply at least one resource"))
	}
}

// equalRules reports whether two lists of rules are equal; nil lists equal empty ones.
func equalRules(a, b []rbacv1.PolicyRule) bool {
	return slices.EqualFunc(a, b, func(a, b rbacv1.PolicyRule) bool {
		return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) &&
			slices.Equal(a.Resources, b.Resources) && slices.Equal(a.ResourceNames, b.ResourceNames) &&
			slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
	})
}
