package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/expression"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

// mutating applies MutatingAdmissionPolicies, in the order of their names.
type mutating struct {
	kinds *kind.Registry
	configuration
	owners owners
}

var _ admission.Plugin = (*mutating)(nil)

// newMutating returns a plugin without policies.
func newMutating(kinds *kind.Registry) *mutating {
	return &mutating{kinds: kinds, configuration: configuration{source: source{
		policies: mutatingPolicies, bindings: mutatingBindings, define: defineMutating, bind: bindMutating,
	}}}
}

func defineMutating(obj kind.Object) *definition {
	p, ok := obj.(*admissionregistrationv1.MutatingAdmissionPolicy)
	if !ok {
		return nil
	}
	return &definition{
		ObjectMeta: &p.ObjectMeta, paramKind: p.Spec.ParamKind, failure: p.Spec.FailurePolicy,
		match:     matching.New(p.Spec.MatchConstraints),
		compiled:  sync.OnceValue(func() *compiled { return compileMutating(&p.Spec) }),
		reinvoked: p.Spec.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy,
	}
}

func bindMutating(obj kind.Object) *binding {
	b, ok := obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding)
	if !ok {
		return nil
	}
	return &binding{name: b.Name, policy: b.Spec.PolicyName, param: b.Spec.ParamRef,
		match: matching.New(b.Spec.MatchResources)}
}

// Name implements admission.Plugin.
func (*mutating) Name() string { return "MutatingAdmissionPolicy" }

// Handles implements admission.Plugin. A delete has no object to change, and the options of a connect are not changed.
func (*mutating) Handles(operation admission.Operation, resource schema.GroupResource, _ string) bool {
	return (operation == admission.Create || operation == admission.Update) && !isExcluded(resource)
}

// Validate implements admission.Plugin.
func (*mutating) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Admit implements admission.Plugin. As in Kubernetes, all policies, bindings and parameters are matched before the
// first mutation, but match conditions are evaluated after the mutations of earlier policies.
func (m *mutating) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	c, err := m.get(ctx, state)
	if err != nil {
		return err
	}
	var r *rounds
	if a.Round > 0 {
		if r, _ = a.Remembered(m.Name()).(*rounds); r == nil || !r.isNeeded(a) {
			return nil
		}
	}
	var w *mutated
	var invocations []invocation
	for p := range c.candidates(a.Resource.Resource) {
		if err := ctx.Err(); err != nil {
			return err
		}
		gv, matched, err := p.match.Match(ctx, a, state)
		if err == nil && !matched {
			continue
		}
		if w == nil {
			w = &mutated{write: newWrite(a, state, m.kinds), owners: &m.owners, first: r, rounds: &rounds{}}
			w.misconfigured = func(p *policy, b *binding, err error) { w.fail(p, b, misconfiguration(b, err), "") }
			ctx = expression.ShareWork(ctx)
		}
		if err != nil {
			w.misconfigured(p, nil, err)
			continue
		}
		if err := w.eachBinding(ctx, p, nil, func(b *binding, params []runtime.Object) error {
			for _, param := range params {
				invocations = append(invocations, invocation{p, b, gv, param})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, i := range invocations {
		if err := w.invoke(ctx, i); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	if a.Round == 0 {
		w.end(a)
	}
	return w.answer()
}

// invocation is an evaluation of a policy, for a binding and a parameter.
type invocation struct {
	*policy
	binding *binding
	version schema.GroupVersion
	param   runtime.Object // nil for none
}

// key identifies an invocation in both rounds.
type key struct{ policy, binding, namespace, param string }

func (i *invocation) key() key {
	k := key{policy: i.Name, binding: i.binding.name}
	if param, ok := i.param.(metav1.Object); ok {
		k.namespace, k.param = param.GetNamespace(), param.GetName()
	}
	return k
}

// rounds is what the second round needs to know about the first.
type rounds struct {
	// invoked are the invocations of policies with the reinvocationPolicy IfNeeded. As in Kubernetes, the second round
	// repeats all of them if a mutation was applied, even if it changed nothing, or if the object has changed since.
	invoked map[key]bool
	applied bool
	// object is the object after the first round, if no mutation was applied.
	object runtime.Object
}

// isNeeded reports whether the second round has to invoke policies.
func (r *rounds) isNeeded(a *admission.Attributes) bool {
	return r.applied || !equality.Semantic.DeepEqual(r.object, runtime.Object(a.Object))
}

// mutated is a write that policies mutate.
type mutated struct {
	*write
	owners *owners
	// first is the first round, while the second one runs.
	first  *rounds
	rounds *rounds
	// json is the object in the versions that mutations have seen since its last change.
	json map[schema.GroupVersion][]byte
	// failures are the messages of the rejection, and reason is the status reason of the first.
	failures []string
	reason   metav1.StatusReason
}

// fail records an error of a policy, unless it ignores failures. b is nil for an error of the policy itself.
func (w *mutated) fail(p *policy, b *binding, err error, reason metav1.StatusReason) {
	if !p.ignoresFailure() {
		w.reject(p, b, err, reason)
	}
}

// reject records a reason why the write is rejected.
func (w *mutated) reject(p *policy, b *binding, err error, reason metav1.StatusReason) {
	by := fmt.Sprintf("policy %q", p.Name)
	if b != nil {
		by = fmt.Sprintf("policy '%s' with binding '%s'", p.Name, b.name)
	}
	if len(w.failures) == 0 {
		w.reason = reason
	}
	if len(w.failures) < maxFailures {
		w.failures = append(w.failures, fmt.Sprintf("%s denied request: %v", by, err))
	}
}

// answer returns the error for the client, nil if no policy rejects the write.
func (w *mutated) answer() error {
	if len(w.failures) == 0 {
		return nil
	}
	err := w.Forbidden("admission request denied by policy")
	err.ErrStatus.Message = w.failures[0]
	if w.reason != "" {
		err.ErrStatus.Reason = w.reason
	}
	for _, message := range w.failures {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	}
	return err
}

// end ends the first round.
func (w *mutated) end(a *admission.Attributes) {
	if w.rounds.applied {
		a.Reinvoke = true
	}
	if len(w.rounds.invoked) == 0 {
		return
	}
	if !w.rounds.applied && a.Object != nil {
		w.rounds.object = a.Object.DeepCopyObject()
	}
	a.Remember((*mutating)(nil).Name(), w.rounds)
}

// invoke applies the mutations of a policy. It returns an error if the request has ended, or if the object cannot be
// decoded after a mutation: as in Kubernetes, these reject the write whatever the failure policy.
func (w *mutated) invoke(ctx context.Context, i invocation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if expression.Exhausted(ctx) { // or a client could turn this policy off by making another one costly
		w.reject(i.policy, i.binding, errBudgetUsed, metav1.StatusReasonInvalid)
		return nil
	}
	e, c := &evaluation{}, i.compiled()
	meter := expression.NewMeter(ctx)
	defer meter.Close()
	e.ctx = meter.Context()
	if err := w.prepare(e, c, i); err != nil {
		return err
	}
	matches, err := e.meetsConditions(c.conditions)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.fail(i.policy, i.binding, err, metav1.StatusReasonInvalid)
		return nil
	}
	if !matches || w.first != nil && !w.first.invoked[i.key()] {
		return nil
	}
	for n := range c.mutations {
		if n > 0 { // the variables are evaluated anew, for the object after the last mutation
			if err := w.prepare(e, c, i); err != nil {
				return err
			}
		}
		err := w.mutate(e, &c.mutations[n])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var status apierrors.APIStatus
		switch {
		case errors.As(err, &status):
			return err
		case err != nil:
			w.fail(i.policy, i.binding, err, metav1.StatusReasonInvalid)
		default:
			w.rounds.applied = true
		}
	}
	if i.reinvoked {
		if w.rounds.invoked == nil {
			w.rounds.invoked = map[key]bool{}
		}
		w.rounds.invoked[i.key()] = true
	}
	return nil
}

// prepare sets the variables of an evaluation to the current object.
func (w *mutated) prepare(e *evaluation, c *compiled, i invocation) error {
	subject, err := w.subject(i.version)
	if err != nil {
		return err
	}
	if e.activation, err = w.variables(e.ctx, subject); err != nil {
		return err
	}
	e.params = valueOf(i.param)
	if len(c.variables) > 0 {
		e.variables = e.lazy(c.variables)
	}
	return nil
}
