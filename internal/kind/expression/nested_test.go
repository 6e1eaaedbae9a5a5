package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// lazy is an activation whose variable v is a list; each second time, it evaluates another program first, as a
// variable of an admission policy does when it is first used.
type lazy struct {
	ctx   context.Context
	other cel.Program
	uses  int
}

// ResolveName implements interpreter.Activation.
func (l *lazy) ResolveName(name string) (any, bool) {
	if name != "v" {
		return nil, false
	}
	if l.uses++; l.uses%2 == 0 {
		if _, _, err := l.other.ContextEval(l.ctx, &lazy{}); err != nil {
			return err, true
		}
	}
	return []int64{1, 2, 3}, true
}

// Parent implements interpreter.Activation.
func (*lazy) Parent() interpreter.Activation { return nil }

// TestNestedEvaluationsKeepLimitOfLoop checks that the iterations of a loop count although other expressions are
// evaluated in it.
func TestNestedEvaluationsKeepLimitOfLoop(t *testing.T) {
	t.Parallel()
	const loop = "lists.range(20000).all(x, v[0] == 1)"
	m := expression.NewMeter(expression.ShareWork(t.Context()))
	defer m.Close()
	l := &lazy{ctx: m.Context(), other: expression.Metered(compile(t, "[1].all(x, true)"), 1)}
	_, _, err := expression.Metered(compile(t, loop), expression.Terms(loop)).ContextEval(m.Context(), l)
	if err == nil || !strings.Contains(err.Error(), "too many iterations") || l.uses < 1_000 {
		t.Errorf("got error %v after %d uses of the variable", err, l.uses)
	}
}

// TestCharge checks that other work counts against the shared limit of evaluations.
func TestCharge(t *testing.T) {
	t.Parallel()
	ctx := expression.ShareWork(t.Context())
	expression.Charge(ctx, celconfig.RuntimeCELCostBudget)
	if expression.Exhausted(ctx) {
		t.Error("the limit is exhausted when it is reached")
	}
	m := expression.NewMeter(ctx)
	defer m.Close()
	_, _, err := expression.Metered(compile(t, "v == [1]"), 1).ContextEval(m.Context(), &lazy{})
	if err == nil || m.Refusal() == nil || !expression.Exhausted(ctx) {
		t.Errorf("got error %v and refusal %v, exhausted %t", err, m.Refusal(), expression.Exhausted(ctx))
	}
	if expression.Charge(t.Context(), celconfig.RuntimeCELCostBudget+1); expression.Exhausted(t.Context()) {
		t.Error("a context without a limit is exhausted")
	}
}
