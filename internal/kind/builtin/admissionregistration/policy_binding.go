package admissionregistration

import (
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

type (
	validatingBinding = admissionv1.ValidatingAdmissionPolicyBinding
	mutatingBinding   = admissionv1.MutatingAdmissionPolicyBinding
)

// validatingBindingKind returns the kind that puts a validating policy into effect.
func validatingBindingKind(cache *object.Cache) kind.Kind {
	info := policyInfo("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings")
	return kind.NewTyped(cache, info, kind.Rules[*validatingBinding]{
		Default:  func(b *validatingBinding) { defaultMatch(b.Spec.MatchResources) },
		Validate: validateValidatingBinding,
		Warnings: func(b, old *validatingBinding) []string { return nameWarnings(b.Name, old != nil) },
		Columns:  bindingColumns,
		Row: func(b *validatingBinding, now time.Time) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef),
				kind.Age(b.CreationTimestamp.Time, now)}
		},
	})
}

// mutatingBindingKind returns the kind that puts a mutating policy into effect.
func mutatingBindingKind(cache *object.Cache) kind.Kind {
	info := mutatingInfo("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings")
	return kind.NewTyped(cache, info, kind.Rules[*mutatingBinding]{
		Default:  func(b *mutatingBinding) { defaultMatch(b.Spec.MatchResources) },
		Validate: validateMutatingBinding,
		Warnings: func(b, old *mutatingBinding) []string { return nameWarnings(b.Name, old != nil) },
		Columns:  bindingColumns,
		Row: func(b *mutatingBinding, now time.Time) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef),
				kind.Age(b.CreationTimestamp.Time, now)}
		},
	})
}

var bindingColumns = []metav1.TableColumnDefinition{
	kind.NameColumn,
	{Name: "PolicyName", Type: "string",
		Description: "PolicyName indicates the policy definition which the policy binding binded to"},
	{Name: "ParamRef", Type: "string",
		Description: "ParamRef indicates the param resource which sets the configuration param"},
	kind.AgeColumn,
}

// bindingView refers to the parts of a binding that both kinds have.
type bindingView struct {
	policy string
	params *admissionv1.ParamRef
	match  *admissionv1.MatchResources
}

// values returns the number of values in rules and selectors.
func (v bindingView) values() int {
	n := matchValues(v.match)
	if v.params != nil {
		n += selectorValues(v.params.Selector)
	}
	return n
}

// validateValidatingBinding returns the errors of missing fields last, because Kubernetes requires these fields in its
// declarative validation.
func validateValidatingBinding(b, old *validatingBinding, _ string) fieldErrors {
	v, path := viewValidatingBinding(b), field.NewPath("spec")
	most := maxValues
	if old != nil {
		most = max(most, viewValidatingBinding(old).values()+len(old.Spec.ValidationActions))
	}
	if n := v.values() + len(b.Spec.ValidationActions); n > most {
		return fieldErrors{tooManyValues(n, most, path)}
	}
	var required fieldErrors
	errs := validatePolicyName(v.policy, path.Child("policyName"))
	if v.policy == "" {
		errs, required = nil, errs
	}
	errs = append(errs, validateParamRef(v.params, path.Child("paramRef"))...)
	errs = append(errs, validateMatch(v.match, path.Child("matchResources"))...)
	actions := path.Child("validationActions")
	errs = append(errs, validateActions(b.Spec.ValidationActions, actions)...)
	if len(b.Spec.ValidationActions) == 0 {
		required = append(required, field.Required(actions, ""))
	}
	if old == nil {
		errs = append(errs, validateNewName(b.Name)...)
	}
	return append(errs, required...)
}

func viewValidatingBinding(b *validatingBinding) bindingView {
	return bindingView{b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources}
}

func viewMutatingBinding(b *mutatingBinding) bindingView {
	return bindingView{b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources}
}

func validateMutatingBinding(b, old *mutatingBinding, _ string) fieldErrors {
	v, path := viewMutatingBinding(b), field.NewPath("spec")
	most := maxValues
	if old != nil {
		most = max(most, viewMutatingBinding(old).values())
	}
	if n := v.values(); n > most {
		return fieldErrors{tooManyValues(n, most, path)}
	}
	errs := validatePolicyName(v.policy, path.Child("policyName"))
	errs = append(errs, validateParamRef(v.params, path.Child("paramRef"))...)
	errs = append(errs, validateMatch(v.match, path.Child("matchResources"))...)
	errs = append(errs, validateMutable(v.match, path.Child("matchResources"))...)
	if old == nil {
		errs = append(errs, validateNewName(b.Name)...)
	}
	return errs
}

// validatePolicyName validates the name of a policy, which need not exist.
func validatePolicyName(name string, path *field.Path) fieldErrors {
	if name == "" {
		return fieldErrors{field.Required(path, "")}
	}
	return fieldcheck.ObjectName(path, name, false)
}

// validationActions are the supported actions for a write that violates a policy.
var validationActions = []admissionv1.ValidationAction{admissionv1.Audit, admissionv1.Deny, admissionv1.Warn}

func validateActions(all []admissionv1.ValidationAction, path *field.Path) (errs fieldErrors) {
	found := map[admissionv1.ValidationAction]bool{}
	for i, a := range all {
		errs = append(errs, oneOf(&a, validationActions, path.Index(i))...)
		if found[a] {
			errs = append(errs, field.Duplicate(path.Index(i), a))
		}
		found[a] = true
	}
	if slices.Contains(all, admissionv1.Deny) && slices.Contains(all, admissionv1.Warn) {
		errs = append(errs, field.Invalid(path, all, "must not contain both Deny and Warn (repeating the same "+
			"validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}
