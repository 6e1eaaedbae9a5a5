package policy

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissionauthorizer "k8s.io/apiserver/pkg/admission/plugin/authorizer"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"

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
	var w *write
	for p := range c.candidates(a.Resource.Resource) {
		if err := ctx.Err(); err != nil {
			return err
		}
		gv, matched, err := p.match.Match(ctx, a, state)
		if err == nil && !matched {
			continue
		}
		if w == nil {
			w = &write{Attributes: a, state: state, verdict: newVerdict(ctx, a),
				subjects: map[schema.GroupVersion]*subject{}}
			ctx = expression.ShareWork(ctx)
		}
		if err != nil {
			w.misconfigured(p, nil, err)
		} else if err := w.apply(ctx, v.kinds, p, gv); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	return w.answer()
}

// write is a write that policies match, with the values that the policies share.
type write struct {
	*admission.Attributes
	state admission.Reader
	*verdict
	subjects   map[schema.GroupVersion]*subject
	namespace  ref.Val // nil until it is needed
	authorizer authorizer.UnconditionalAuthorizer
}

// apply evaluates a policy that matches the write, for each of its bindings. Its errors do not depend on the policy.
func (w *write) apply(ctx context.Context, kinds *kind.Registry, p *policy, gv schema.GroupVersion) error {
	k, err := paramKindOf(kinds, p.Spec.ParamKind)
	if err != nil {
		w.misconfigured(p, nil, err)
		return nil
	}
	for _, b := range p.bindings {
		if w.denied != nil && b.onlyDenies() {
			continue // its result would have no effect
		}
		if _, matched, err := b.match.Match(ctx, w.Attributes, w.state); err != nil {
			w.misconfigured(p, b, err)
			continue
		} else if !matched {
			continue
		}
		params, err := k.collect(ctx, w.state, b.Spec.ParamRef, matching.NamespaceOf(w.Attributes))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			w.misconfigured(p, b, err)
			continue
		}
		if len(params) == 0 {
			continue
		}
		subject, err := w.subject(gv)
		if err != nil {
			w.misconfigured(p, b, fmt.Errorf("failed to convert object version: %w", err))
			continue
		}
		variables, err := w.variables(ctx, subject)
		if err != nil {
			return err
		}
		for _, param := range params {
			variables.params = valueOf(param)
			r := p.evaluate(ctx, variables)
			if err := ctx.Err(); err != nil {
				return err // not a failure of the policy
			}
			w.add(p, b, r)
			if w.denied != nil && b.onlyDenies() {
				break
			}
		}
	}
	w.endPolicy(p)
	return nil
}

// onlyDenies reports whether violations have no effect beside the rejection of the write.
func (b *binding) onlyDenies() bool {
	return !slices.ContainsFunc(b.Spec.ValidationActions, func(a admissionregistrationv1.ValidationAction) bool {
		return a != admissionregistrationv1.Deny
	})
}

// subject returns the objects of the write in a version.
func (w *write) subject(gv schema.GroupVersion) (*subject, error) {
	if s := w.subjects[gv]; s != nil {
		return s, nil
	}
	s, err := newSubject(w.Attributes, gv)
	if err == nil {
		w.subjects[gv] = s
	}
	return s, err
}

// variables returns the variables of all policies that see the write as a subject.
func (w *write) variables(ctx context.Context, of *subject) (a activation, err error) {
	a.subject = of
	if w.namespace == nil {
		if w.namespace, err = w.namespaceValue(ctx); err != nil {
			return a, err
		}
	}
	if w.authorizer == nil {
		w.authorizer = admissionauthorizer.NewCachingAuthorizer(matching.AuthorizerOf(w.Attributes))
	}
	a.namespace = w.namespace
	a.authorizer = library.NewAuthorizerVal(a.attributes.GetUserInfo(), w.authorizer)
	a.rights = library.NewResourceAuthorizerVal(a.attributes.GetUserInfo(), w.authorizer, a.attributes)
	return a, nil
}

// namespaceValue returns the namespace of the written object; null for a namespace or a cluster-scoped object.
func (w *write) namespaceValue(ctx context.Context) (ref.Val, error) {
	if w.Namespace == "" || w.Resource.GroupResource() == namespaces {
		return types.NullValue, nil
	}
	obj, err := w.state.Get(ctx, namespaces, "", w.Namespace)
	if err != nil {
		return nil, err
	}
	namespace, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil, apierrors.NewNotFound(namespaces, w.Namespace)
	}
	return common.SchemalessTypedToVal(plugincel.CreateNamespaceObject(namespace)), nil
}

// misconfigured records an error outside of the expressions; b is nil for one of the policy itself. It rejects the
// write unless the failure policy is Ignore, whatever the actions of the binding.
func (w *write) misconfigured(p *policy, b *binding, err error) {
	if p.ignoresFailure() {
		return
	}
	what := "policy"
	if b != nil {
		what = "binding"
	}
	w.deny(p, b, denial{message: fmt.Sprintf("failed to configure %s: %v", what, err)})
}
