package expression

import (
	"context"
	"errors"
	"strings"

	"github.com/google/cel-go/interpreter"
)

// Variable is the variable with the [Meter] of an evaluation. Expressions cannot contain its name.
const Variable = "@meter"

// maxSearched is the number of values that cel-go may search to calculate the cost of loops, at about a nanosecond: a
// loop such as all(x, x != 2) has at most about 9,000 items.
const maxSearched = 300_000_000

// Meter limits the loops of a number of evaluations, such as those of the rules of an object, and keeps the first
// refusal. It is for one goroutine. The caller passes it as the variable [Variable], evaluates with Context, and calls
// Begin before each evaluation.
type Meter struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// loops are the loops that are being evaluated, the innermost last.
	loops []loop
	// kept is the number of values of these loops that cel-go keeps, and terms that of the expression.
	kept, terms int
	// depth is the number of programs of [Metered] that are being evaluated: one may use the result of another, such as
	// a variable of an admission policy.
	depth int
	work  *work
}

// work is what was done. Meters may share it.
type work struct {
	searched int    // values, by cel-go
	cost     uint64 // of programs
}

type (
	meterKey struct{}
	workKey  struct{}
)

// ShareWork returns a context whose meters share their limits, as the conditions of all webhooks for a request do.
func ShareWork(ctx context.Context) context.Context {
	return context.WithValue(ctx, workKey{}, &work{})
}

// loop is identified by its frame. What is evaluated outside of loops has the frame of the program.
type loop struct {
	frame *interpreter.ExecutionFrame
	kept  int
}

// NewMeter returns a meter. Its evaluations end with ctx, or with the first refusal. Call Close after the last one.
func NewMeter(ctx context.Context) *Meter {
	m := &Meter{}
	if m.work, _ = ctx.Value(workKey{}).(*work); m.work == nil {
		m.work = &work{}
	}
	ctx, m.cancel = context.WithCancelCause(ctx)
	m.ctx = context.WithValue(ctx, meterKey{}, m)
	return m
}

// Context returns the context of the evaluations. It has the meter for programs of [Metered].
func (m *Meter) Context() context.Context { return m.ctx }

// Close releases the context.
func (m *Meter) Close() { m.cancel(nil) }

// Refusal returns the first refusal, or nil.
func (m *Meter) Refusal() *Refusal {
	var r *Refusal
	errors.As(context.Cause(m.ctx), &r)
	return r
}

// Begin is called before each evaluation of an expression with a number of terms, see [Terms].
func (m *Meter) Begin(terms int) { m.loops, m.kept, m.terms = m.loops[:0], 0, terms }

// nest is Begin for an expression that another one may be using. The returned function continues with the latter.
func (m *Meter) nest(terms int) (end func()) {
	m.depth++
	if m.depth == 1 {
		m.Begin(terms)
		return func() { m.depth-- }
	}
	loops, kept, outer := m.loops, m.kept, m.terms
	m.loops, m.kept, m.terms = nil, 0, terms
	return func() {
		m.loops, m.kept, m.terms = loops, kept, outer
		m.depth--
	}
}

// Terms returns the number of operands of && and || in an expression, approximately. In each iteration of a loop,
// cel-go searches all values that it has kept for each of them.
func Terms(expression string) int {
	return 1 + strings.Count(expression, "&&") + strings.Count(expression, "||")
}

// refuse ends the evaluation when cel-go next looks at its context: after 100 iterations of a loop at most.
func (m *Meter) refuse(r *Refusal) { m.cancel(r) }

// search counts the evaluation of a variable, for which cel-go searches the values that it has kept.
func (m *Meter) search(frame *interpreter.ExecutionFrame) *Refusal {
	m.loop(frame)
	return m.add(m.kept)
}

// iterate counts an iteration of a loop, of which cel-go keeps some values.
func (m *Meter) iterate(frame *interpreter.ExecutionFrame, keeps int) *Refusal {
	m.loop(frame).kept += keeps
	m.kept += keeps
	return m.add(m.kept * m.terms)
}

// add adds values that were searched, or what takes as long. It returns a refusal if they are too many.
func (m *Meter) add(values int) *Refusal {
	const node = 20 // the evaluation itself
	m.work.searched += values + node
	if m.work.searched <= maxSearched {
		return nil
	}
	r := &Refusal{"the loops of all expressions for this object have too many iterations"}
	m.refuse(r)
	return r
}

// loop returns the loop of a frame. The loops in it have ended.
func (m *Meter) loop(frame *interpreter.ExecutionFrame) *loop {
	last := len(m.loops) - 1
	for i := last; i >= 0; i-- {
		if m.loops[i].frame != frame {
			continue
		}
		for _, ended := range m.loops[i+1:] {
			m.kept -= ended.kept
		}
		m.loops = m.loops[:i+1]
		return &m.loops[i]
	}
	m.loops = append(m.loops, loop{frame: frame})
	return &m.loops[last+1]
}
