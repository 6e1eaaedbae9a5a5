package webhook

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// compiler compiles match conditions as Kubernetes does. It is created on first use, which takes
// milliseconds.
var compiler = sync.OnceValue(func() cel.Compiler { return cel.NewCompiler(expression.Environment()) })

func (h *hook) compileConditions() matchconditions.Matcher {
	compiled := make([]cel.CompilationResult, len(h.MatchConditions))
	for i, c := range h.MatchConditions {
		condition := &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression}
		compiled[i] = compiler().CompileCELExpression(condition, cel.OptionalVariableDeclarations{HasAuthorizer: true},
			environment.StoredExpressions)
		if p := compiled[i].Program; p != nil {
			compiled[i].Program = expression.Metered(p, expression.Terms(c.Expression))
		}
	}
	return matchconditions.NewMatcher(cel.NewCondition(compiled), h.FailurePolicy, "webhook", "admit", h.Name)
}

// sharedWork returns a context in which the conditions of all hooks share their limits.
func sharedWork(ctx context.Context, all []*hook) context.Context {
	for _, h := range all {
		if h.conditions != nil {
			return expression.ShareWork(ctx)
		}
	}
	return ctx
}

// meetsConditions reports whether a write meets the webhook's match conditions. If evaluating them fails, the failure
// policy decides: the write is rejected, or the webhook is skipped. The conditions of all webhooks together may cost as
// much as the rules of a custom resource.
func (h *hook) meetsConditions(ctx context.Context, s *subject) (bool, error) {
	if h.conditions == nil {
		return true, nil
	}
	a := s.a
	namespace := a.Namespace
	if a.Resource.GroupResource() == namespaces {
		namespace = a.Name
	}
	versioned := &k8sadmission.VersionedAttributes{
		Attributes: k8sadmission.NewAttributesRecord(s.now, s.old, s.requestKind(), namespace, a.Name, a.Resource,
			a.Subresource,
			k8sadmission.Operation(a.Operation), s.options(), a.DryRun,
			&user.DefaultInfo{Name: a.User, Groups: a.Groups, Extra: a.Extra}),
		VersionedKind: s.kind,
	}
	set(&versioned.VersionedObject, s.now)
	set(&versioned.VersionedOldObject, s.old)
	var rights authorizer.UnconditionalAuthorizer = noAuthorizer{}
	if a.Authorizer != nil {
		rights = a.Authorizer
	}
	meter := expression.NewMeter(ctx)
	defer meter.Close()
	result := h.conditions().Match(meter.Context(), versioned, nil, rights)
	if result.Error != nil {
		return false, apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, result.Error)
	}
	return result.Matches, nil
}

// set stores obj unless it is nil: a nil inside the interface would count as an object.
func set(lazy *k8sadmission.LazyObject, obj runtime.Object) {
	if obj != nil {
		lazy.Set(obj)
	}
}

// noAuthorizer is passed to conditions if the server has no authorizer. Its error leaves the decision about
// conditions with authorization checks to the failure policy.
type noAuthorizer struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (noAuthorizer) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", errors.New("the server has no authorizer")
}
