package admissionregistration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

type validatingPolicy = admissionv1.ValidatingAdmissionPolicy

// validatingPolicyKind returns the kind of policies that reject writes. A controller checks the types of the
// expressions and writes the result to the status.
func validatingPolicyKind(cache *object.Cache) kind.Kind {
	info := policyInfo("ValidatingAdmissionPolicy", "validatingadmissionpolicies")
	info.Subresources = []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"},
		Preserves: []string{"metadata"}}}
	return kind.NewTyped(cache, info, kind.Rules[*validatingPolicy]{
		Default: func(p *validatingPolicy) {
			setDefault(&p.Spec.FailurePolicy, admissionv1.Fail)
			defaultMatch(p.Spec.MatchConstraints)
		},
		Prepare:        restoreMetadata,
		Validate:       validateValidatingPolicy,
		Warnings:       func(p, old *validatingPolicy) []string { return nameWarnings(p.Name, old != nil) },
		StatusWarnings: func(p *validatingPolicy) []string { return warnings(p.Name) },
		Columns: policyColumns("Validations",
			"Validations indicates the number of validation rules defined in this configuration"),
		Row: func(p *validatingPolicy, now time.Time) []any {
			return []any{p.Name, int64(len(p.Spec.Validations)), paramKindCell(p.Spec.ParamKind),
				kind.Age(p.CreationTimestamp.Time, now)}
		},
	})
}

// restoreMetadata restores the metadata in a write of the status. For most kinds, such a write may change labels,
// annotations and finalizers.
func restoreMetadata(p, old *validatingPolicy, sub string) {
	if sub != "status" || old == nil {
		return
	}
	p.Labels, p.Annotations = maps.Clone(old.Labels), maps.Clone(old.Annotations)
	p.Finalizers = slices.Clone(old.Finalizers)
}

func viewValidating(spec *admissionv1.ValidatingAdmissionPolicySpec) *policyView {
	v := &policyView{params: spec.ParamKind, match: spec.MatchConstraints, conditions: spec.MatchConditions,
		variables: spec.Variables, failure: spec.FailurePolicy}
	for _, one := range spec.Validations {
		v.own = append(v.own, source{validationRole, one.Expression})
		if one.MessageExpression != "" {
			v.own = append(v.own, source{messageRole, one.MessageExpression})
		}
	}
	for _, a := range spec.AuditAnnotations {
		v.own = append(v.own, source{annotationRole, a.ValueExpression})
	}
	return v
}

func validateValidatingPolicy(p, old *validatingPolicy, sub string) fieldErrors {
	if sub == "status" {
		return validatePolicyStatus(&p.Status, field.NewPath("status"))
	}
	v, path := viewValidating(&p.Spec), field.NewPath("spec")
	var before *policyView
	if old != nil {
		before = viewValidating(&old.Spec)
	}
	if err := costlyPolicy(v, before, path); err != nil {
		return fieldErrors{err}
	}
	c := compile(v, before)
	errs := validatePolicy(v, before, c, path)
	if len(p.Spec.Validations)+len(p.Spec.AuditAnnotations) == 0 {
		const one = "validations or auditAnnotations must contain at least one item"
		errs = append(errs, field.Required(path.Child("validations"), one),
			field.Required(path.Child("auditAnnotations"), one))
	}
	for i := range p.Spec.Validations {
		errs = append(errs, c.validateValidation(&p.Spec.Validations[i], path.Child("validations").Index(i))...)
	}
	errs = append(errs, c.validateAnnotations(p.Spec.AuditAnnotations, p.Name, path.Child("auditAnnotations"))...)
	if old == nil {
		errs = append(errs, validateNewName(p.Name)...)
	}
	return errs
}

// reasons are the supported reasons for a rejection.
var reasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
	metav1.StatusReasonRequestEntityTooLarge}

func (c *compilation) validateValidation(v *admissionv1.Validation, path *field.Path) (errs fieldErrors) {
	const blank = "must be non-empty if specified"
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, c.check(source{validationRole, v.Expression}, path.Child("expression"))...)
	}
	at := path.Child("messageExpression")
	switch {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		errs = append(errs, field.Invalid(at, v.MessageExpression, blank))
	default:
		errs = append(errs, c.check(source{messageRole, v.MessageExpression}, at)...)
	}
	switch text := strings.TrimSpace(v.Message); {
	case text == "" && v.Message != "":
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, blank))
	case strings.ContainsAny(text, "\n\r"):
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(errs, oneOf(v.Reason, reasons, path.Child("reason"))...)
}

const (
	maxAnnotations = 20
	// maxAnnotation is the maximum length of an annotation's expression, in bytes.
	maxAnnotation = 5 << 10
)

// validateAnnotations validates the audit annotations of a policy; name is the name of the policy.
func (c *compilation) validateAnnotations(all []admissionv1.AuditAnnotation, name string,
	path *field.Path) (errs fieldErrors) {
	if len(all) > maxAnnotations {
		// Kubernetes reports its internal struct, whose fields have no JSON names.
		type internal struct{ Key, ValueExpression string }
		var shown []internal
		for _, a := range all {
			shown = append(shown, internal(a))
		}
		errs = append(errs, field.Invalid(path, shown,
			fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations)))
	}
	keys := map[string]bool{}
	for i, a := range all {
		at := path.Index(i)
		if name == "" {
			errs = append(errs, field.Invalid(at.Child("key"), a.Key, "requires metadata.name be non-empty"))
		} else {
			errs = append(errs, fieldcheck.QualifiedName(at.Child("key"), name+"/"+a.Key)...)
		}
		errs = append(errs, c.validateAnnotation(a.ValueExpression, at.Child("valueExpression"))...)
		if keys[a.Key] {
			errs = append(errs, field.Duplicate(at.Child("key"), a.Key))
		}
		keys[a.Key] = true
	}
	return errs
}

func (c *compilation) validateAnnotation(expression string, path *field.Path) fieldErrors {
	switch text := strings.TrimSpace(expression); {
	case text == "":
		return fieldErrors{field.Required(path, "valueExpression is not specified")}
	case len(text) > maxAnnotation:
		return fieldErrors{field.Required(path, fmt.Sprintf("must not exceed %d bytes in length", maxAnnotation))}
	}
	return c.check(source{annotationRole, expression}, path)
}
