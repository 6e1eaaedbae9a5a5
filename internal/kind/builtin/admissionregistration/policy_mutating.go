package admissionregistration

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

type mutatingPolicy = admissionv1.MutatingAdmissionPolicy

// mutatingPolicyKind returns the kind of policies that change objects before they are written.
func mutatingPolicyKind(cache *object.Cache) kind.Kind {
	info := mutatingInfo("MutatingAdmissionPolicy", "mutatingadmissionpolicies")
	return kind.NewTyped(cache, info, kind.Rules[*mutatingPolicy]{
		Default: func(p *mutatingPolicy) {
			setDefault(&p.Spec.FailurePolicy, admissionv1.Fail)
			defaultMatch(p.Spec.MatchConstraints)
		},
		Validate: validateMutatingPolicy,
		Warnings: func(p, old *mutatingPolicy) []string { return nameWarnings(p.Name, old != nil) },
		Columns: policyColumns("Mutations",
			"Mutation indicates the number of mutations rules defined in this configuration"),
		Row: func(p *mutatingPolicy, now time.Time) []any {
			return []any{p.Name, int64(len(p.Spec.Mutations)), paramKindCell(p.Spec.ParamKind),
				kind.Age(p.CreationTimestamp.Time, now)}
		},
	})
}

func viewMutating(spec *admissionv1.MutatingAdmissionPolicySpec) *policyView {
	v := &policyView{params: spec.ParamKind, match: spec.MatchConstraints, conditions: spec.MatchConditions,
		variables: spec.Variables, failure: spec.FailurePolicy, mutates: true}
	for _, m := range spec.Mutations {
		if m.ApplyConfiguration != nil {
			v.own = append(v.own, source{applyRole, m.ApplyConfiguration.Expression})
		}
		if m.JSONPatch != nil {
			v.own = append(v.own, source{patchRole, m.JSONPatch.Expression})
		}
	}
	return v
}

func validateMutatingPolicy(p, old *mutatingPolicy, _ string) fieldErrors {
	v, path := viewMutating(&p.Spec), field.NewPath("spec")
	var before *policyView
	if old != nil {
		before = viewMutating(&old.Spec)
	}
	if err := costlyPolicy(v, before, path); err != nil {
		return fieldErrors{err}
	}
	c := compile(v, before)
	errs := validatePolicy(v, before, c, path)
	if len(p.Spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range p.Spec.Mutations {
		errs = append(errs, c.validateMutation(&p.Spec.Mutations[i], path.Child("mutations").Index(i))...)
	}
	errs = append(errs, fieldcheck.Choice(path.Child("reinvocationPolicy"), p.Spec.ReinvocationPolicy,
		reinvocations...)...)
	if old == nil {
		errs = append(errs, validateNewName(p.Name)...)
	}
	return errs
}

// validateMutation requires the expression for the mutation's patch type, and rejects the one for the other type.
func (c *compilation) validateMutation(m *admissionv1.Mutation, path *field.Path) (errs fieldErrors) {
	apply, patch := path.Child("applyConfiguration"), path.Child("jsonPatch")
	switch m.PatchType {
	case admissionv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			errs = append(errs, c.checkRequired(source{patchRole, m.JSONPatch.Expression}, patch)...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(apply, "{applyConfiguration}",
				"must not be specified when patchType is JSONPatch"))
		}
	case admissionv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			errs = append(errs, c.checkRequired(source{applyRole, m.ApplyConfiguration.Expression}, apply)...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(patch, "{jsonPatch}",
				"must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		return fieldcheck.Choice(path.Child("patchType"), m.PatchType, admissionv1.PatchTypeApplyConfiguration,
			admissionv1.PatchTypeJSONPatch)
	}
	return errs
}

func (c *compilation) checkRequired(s source, path *field.Path) fieldErrors {
	at := path.Child("expression")
	if strings.TrimSpace(s.written) == "" {
		return fieldErrors{field.Required(at, "")}
	}
	return c.check(s, at)
}
