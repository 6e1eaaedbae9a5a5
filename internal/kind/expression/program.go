package expression

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type meterKey struct{}

// WithMeter returns the context of the evaluations of m, for programs of [Metered].
func WithMeter(m *Meter) context.Context { return context.WithValue(m.ctx, meterKey{}, m) }

// Metered returns a program with a number of [Terms] that takes its meter from the context, see [WithMeter], for a
// caller that evaluates it with variables of its own, such as Kubernetes' library of match conditions. All evaluations
// of meters that share their work may cost as much as the rules of an object.
func Metered(p cel.Program, terms int) cel.Program { return metered{p, terms} }

type metered struct {
	cel.Program
	terms int
}

// ContextEval implements cel.Program.
func (p metered) ContextEval(ctx context.Context, variables any) (value, *cel.EvalDetails, error) {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	activation, ok := variables.(interpreter.Activation)
	if m == nil || !ok {
		return p.Program.ContextEval(ctx, variables)
	}
	m.Begin(p.terms)
	result, details, err := p.Program.ContextEval(ctx, withMeter{activation, m})
	if cost := details.ActualCost(); cost != nil {
		m.work.cost += *cost
	}
	if m.work.cost > celconfig.RuntimeCELCostBudget {
		m.refuse(&Refusal{"the match conditions of all webhooks for this object cost too much"})
	}
	if r := m.Refusal(); r != nil {
		err = r
	}
	return result, details, err
}

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
