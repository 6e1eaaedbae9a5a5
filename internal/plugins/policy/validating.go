package policy

import (
	"context"
	"fmt"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/expression"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// validating applies ValidatingAdmissionPolicies, in the order of their names.
type validating struct {
	kinds *kind.Registry
	configuration
}

var _ admission.Plugin = (*validating)(nil)

// newValidating returns a plugin without policies.
func newValidating(kinds *kind.Registry) *validating {
	return &validating{kinds: kinds, configuration: configuration{source: source{
		policies: validatingPolicies, bindings: validatingBindings, define: defineValidating, bind: bindValidating,
	}}}
}

func defineValidating(obj kind.Object) *definition {
	p, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	if !ok {
		return nil
	}
	return &definition{
		ObjectMeta: &p.ObjectMeta, paramKind: p.Spec.ParamKind, failure: p.Spec.FailurePolicy,
		match:       matching.New(p.Spec.MatchConstraints),
		compiled:    sync.OnceValue(func() *compiled { return compileValidating(&p.Spec) }),
		validations: p.Spec.Validations, annotations: p.Spec.AuditAnnotations,
	}
}

func bindValidating(obj kind.Object) *binding {
	b, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
	if !ok {
		return nil
	}
	return &binding{name: b.Name, policy: b.Spec.PolicyName, param: b.Spec.ParamRef,
		match: matching.New(b.Spec.MatchResources), actions: b.Spec.ValidationActions}
}

// Name implements admission.Plugin.
func (*validating) Name() string { return "ValidatingAdmissionPolicy" }

// Handles implements admission.Plugin.
func (*validating) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return !isExcluded(resource)
}

// Admit implements admission.Plugin.
func (*validating) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin. The client gets the error of the first policy that rejects the write, and the
// warnings of all.
func (v *validating) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	c, err := v.get(ctx, state)
	if err != nil {
		return err
	}
	var w *validation
	for p := range c.candidates(a.Resource.Resource) {
		if err := ctx.Err(); err != nil {
			return err
		}
		gv, matched, err := p.match.Match(ctx, a, state)
		if err == nil && !matched {
			continue
		}
		if w == nil {
			w = &validation{newWrite(a, state, v.kinds), newVerdict(ctx, a)}
			w.misconfigured = w.deniedBy
			ctx = expression.ShareWork(ctx)
		}
		if err != nil {
			w.misconfigured(p, nil, err)
		} else if err := w.apply(ctx, p, gv); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	return w.answer()
}

// validation is a write that policies validate.
type validation struct {
	*write
	*verdict
}

// apply evaluates a policy that matches the write, for each of its bindings. Its errors do not depend on the policy.
func (v *validation) apply(ctx context.Context, p *policy, gv schema.GroupVersion) error {
	useless := func(b *binding) bool { return v.denied != nil && b.onlyDenies() } // its result would have no effect
	err := v.eachBinding(ctx, p, useless, func(b *binding, params []runtime.Object) error {
		subject, err := v.subject(gv)
		if err != nil {
			v.misconfigured(p, b, fmt.Errorf("failed to convert object version: %w", err))
			return nil
		}
		variables, err := v.variables(ctx, subject)
		if err != nil {
			return err
		}
		for _, param := range params {
			variables.params = valueOf(param)
			r := p.evaluate(ctx, variables)
			if err := ctx.Err(); err != nil {
				return err // not a failure of the policy
			}
			v.add(p, b, r)
			if useless(b) {
				break
			}
		}
		return nil
	})
	v.endPolicy(p)
	return err
}

// onlyDenies reports whether violations have no effect beside the rejection of the write.
func (b *binding) onlyDenies() bool {
	return !slices.ContainsFunc(b.actions, func(a admissionregistrationv1.ValidationAction) bool {
		return a != admissionregistrationv1.Deny
	})
}

// deniedBy records an error outside of the expressions; b is nil for one of the policy itself. It rejects the write
// unless the failure policy is Ignore, whatever the actions of the binding.
func (v *validation) deniedBy(p *policy, b *binding, err error) {
	if !p.ignoresFailure() {
		v.deny(p, b, denial{message: misconfiguration(b, err).Error()})
	}
}
