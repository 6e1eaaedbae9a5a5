package expression

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Metered returns a program with a number of [Terms] that takes its [Meter] from the context, for a caller that
// evaluates it with variables of its own, such as Kubernetes' library of match conditions. All evaluations of meters
// that share their work may cost as much as the rules of an object.
func Metered(p cel.Program, terms int) cel.Program { return metered{p, terms} }

type metered struct {
	cel.Program
	terms int
}

// ContextEval implements cel.Program.
func (p metered) ContextEval(ctx context.Context, variables any) (value, *cel.EvalDetails, error) {
	m, metered := ctx.Value(meterKey{}).(*Meter)
	activation, ok := variables.(interpreter.Activation)
	if !metered || !ok {
		return nil, nil, fmt.Errorf("an expression was evaluated without a meter, with variables of the type %T", variables)
	}
	defer m.nest(p.terms)()
	result, details, err := p.Program.ContextEval(ctx, withMeter{activation, m})
	if cost := details.ActualCost(); cost != nil {
		m.work.cost += *cost
	}
	if m.work.exhausted() {
		m.refuse(&Refusal{"the CEL expressions for this write cost too much"})
	}
	if r := m.Refusal(); r != nil {
		err = r
	}
	return result, details, err
}

// Charge counts the cost of other work against the budget that ctx shares, see [ShareWork].
func Charge(ctx context.Context, cost uint64) {
	if w, ok := ctx.Value(workKey{}).(*work); ok {
		w.cost += cost
	}
}

// Exhausted reports whether the evaluations with which ctx shares its limits have cost more than they may.
func Exhausted(ctx context.Context) bool {
	w, ok := ctx.Value(workKey{}).(*work)
	return ok && w.exhausted()
}

func (w *work) exhausted() bool { return w.cost > celconfig.RuntimeCELCostBudget }

// withMeter are variables with a meter.
type withMeter struct {
	interpreter.Activation
	meter *Meter
}

// ResolveName implements interpreter.Activation.
func (v withMeter) ResolveName(name string) (any, bool) {
	if name == Variable {
		return v.meter, true
	}
	return v.Activation.ResolveName(name)
}
