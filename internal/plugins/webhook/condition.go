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
)

// compiler compiles match conditions as Kubernetes does. It is created on first use, which takes
// milliseconds.
var compiler = sync.OnceValue(func() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

func (h *hook) compileConditions() matchconditions.Matcher {
	expressions := make([]cel.ExpressionAccessor, len(h.MatchConditions))
	for i, c := range h.MatchConditions {
		expressions[i] = &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression}
	}
	conditions := compiler().CompileCondition(expressions, cel.OptionalVariableDeclarations{HasAuthorizer: true},
		environment.StoredExpressions)
	return matchconditions.NewMatcher(conditions, h.FailurePolicy, "webhook", "admit", h.Name)
}

// meetsConditions reports whether a write meets the webhook's match conditions. If evaluating them fails, the failure
// policy decides: the write is rejected, or the webhook is skipped.
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
	result := h.conditions().Match(ctx, versioned, nil, rights)
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
