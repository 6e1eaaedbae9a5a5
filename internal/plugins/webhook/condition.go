package webhook

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
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
	versioned := &k8sadmission.VersionedAttributes{Attributes: s.Record(), VersionedKind: s.Kind}
	set(&versioned.VersionedObject, s.Now)
	set(&versioned.VersionedOldObject, s.Before)
	meter := expression.NewMeter(ctx)
	defer meter.Close()
	result := h.conditions().Match(meter.Context(), versioned, nil, matching.AuthorizerOf(s.Write))
	if result.Error != nil {
		return false, apierrors.NewForbidden(s.Write.Resource.GroupResource(), s.Write.Name, result.Error)
	}
	return result.Matches, nil
}

// set stores obj unless it is nil: a nil inside the interface would count as an object.
func set(lazy *k8sadmission.LazyObject, obj runtime.Object) {
	if obj != nil {
		lazy.Set(obj)
	}
}
