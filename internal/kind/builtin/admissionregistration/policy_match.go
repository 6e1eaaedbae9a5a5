package admissionregistration

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// mutableOperations are the operations whose requests have an object that a policy can change.
var mutableOperations = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
	admissionv1.Update}

// defaultMatch sets the defaults of the rules that select requests for a policy.
func defaultMatch(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionv1.Equivalent)
	defaultSelector(&m.NamespaceSelector)
	defaultSelector(&m.ObjectSelector)
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionv1.AllScopes)
		}
	}
}

// validateConstraints validates the rules of a policy, which must have at least one.
func validateConstraints(m *admissionv1.MatchResources, mutates bool, path *field.Path) fieldErrors {
	if m == nil {
		return fieldErrors{field.Required(path, "")}
	}
	errs := validateMatch(m, path)
	if len(m.ResourceRules) == 0 {
		errs = append(errs, field.Required(path.Child("resourceRules"), ""))
	}
	if mutates {
		errs = append(errs, validateMutable(m, path)...)
	}
	return errs
}

// validateMatch validates the rules of a policy or binding; nil is valid.
func validateMatch(m *admissionv1.MatchResources, path *field.Path) fieldErrors {
	if m == nil {
		return nil
	}
	errs := choice(m.MatchPolicy, matches, path.Child("matchPolicy"))
	strict := metav1validation.LabelSelectorValidationOptions{}
	if m.NamespaceSelector == nil {
		errs = append(errs, field.Required(path.Child("namespaceSelector"), ""))
	}
	errs = append(errs, validateSelector(m.NamespaceSelector, strict, path.Child("namespaceSelector"))...)
	if m.ObjectSelector == nil {
		errs = append(errs, field.Required(path.Child("objectSelector"), ""))
	}
	errs = append(errs, validateSelector(m.ObjectSelector, strict, path.Child("objectSelector"))...)
	for i, r := range m.ResourceRules {
		errs = append(errs, validateNamedRule(r, path.Child("resourceRules").Index(i))...)
	}
	for i, r := range m.ExcludeResourceRules {
		errs = append(errs, validateNamedRule(r, path.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func validateNamedRule(r admissionv1.NamedRuleWithOperations, path *field.Path) (errs fieldErrors) {
	names := map[string]bool{}
	for i, name := range r.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		errs = append(errs, fieldcheck.Invalid(at, name, content.IsPathSegmentName(name))...)
		if names[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		names[name] = true
	}
	return append(errs, validateRule(r.RuleWithOperations, path)...)
}

// validateMutable rejects rules for requests without an object to change. As in Kubernetes, the error does not name the
// rule.
func validateMutable(m *admissionv1.MatchResources, path *field.Path) (errs fieldErrors) {
	if m == nil {
		return nil
	}
	for _, r := range m.ResourceRules {
		for _, operation := range r.Operations {
			if !slices.Contains(mutableOperations, operation) {
				errs = append(errs, field.NotSupported(path.Child("resourceRules", "operations"), operation,
					mutableOperations))
			}
		}
	}
	return errs
}
