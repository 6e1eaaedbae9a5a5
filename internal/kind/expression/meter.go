package expression

import (
	"context"
	"errors"

	"github.com/google/cel-go/interpreter"
)

// Variable is the variable with the [Meter] of an evaluation. Expressions cannot contain its name.
const Variable = "@meter"

// maxSearched is the number of values that cel-go may search to calculate the cost of loops, at 2 to 3 ns: a loop with
// two calls for each item, such as all(x, x != 2), has at most about 8,000 items.
const maxSearched = 120_000_000

// Meter limits the loops of a number of evaluations, such as those of the rules of an object, and keeps the first
// refusal. It is for one goroutine. Evaluations get it as the variable [Variable], and use its context.
type Meter struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// loops are the loops that are being evaluated, the innermost last.
	loops []loop
	// kept is the number of values of these loops that cel-go keeps.
	kept int
	work *work
}

// work is what was done. Meters may share it.
type work struct {
	searched int    // values that cel-go kept
	cost     uint64 // of programs, by Kubernetes' rules
}

type workKey struct{}

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
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	return m
}

// Context returns the context of the evaluations.
func (m *Meter) Context() context.Context { return m.ctx }

// Close releases the context.
func (m *Meter) Close() { m.cancel(nil) }

// Refusal returns the first refusal, or nil.
func (m *Meter) Refusal() *Refusal {
	var r *Refusal
	errors.As(context.Cause(m.ctx), &r)
	return r
}

// Begin is called before each evaluation.
func (m *Meter) Begin() { m.loops, m.kept = m.loops[:0], 0 }

// refuse ends the evaluation, at the latest after 100 iterations.
func (m *Meter) refuse(r *Refusal) { m.cancel(r) }

// enter counts the evaluation of a node, of which cel-go keeps some values. It returns a refusal if loops have taken
// too much.
func (m *Meter) enter(frame *interpreter.ExecutionFrame, values int) *Refusal {
	l := m.loop(frame)
	l.kept += values
	m.kept += values
	m.work.searched += m.kept * values
	if m.work.searched <= maxSearched {
		return nil
	}
	r := &Refusal{"its loops have too many iterations"}
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
