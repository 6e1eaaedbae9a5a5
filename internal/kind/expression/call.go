package expression

import (
	"errors"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// meteredCall is a call that may be in a loop.
type meteredCall struct{ interpreter.InterpretableCall }

// Exec implements interpreter.InterpretableV2.
func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) value {
	m := meterOf(frame)
	if m == nil {
		return c.InterpretableCall.Exec(frame)
	}
	if r := m.enter(frame, 1); r != nil {
		return types.WrapErr(r)
	}
	result := c.InterpretableCall.Exec(frame)
	if err, ok := result.(*types.Err); ok {
		var r *Refusal
		if errors.As(err.Unwrap(), &r) {
			m.refuse(r) // an expression such as f(x) || true ignores the error
		}
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (c *meteredCall) Eval(variables interpreter.Activation) value {
	return c.Exec(interpreter.AsFrame(variables))
}

// meteredConditional is a ? b : c, which may be in a loop.
type meteredConditional struct {
	interpreter.InterpretableAttribute
}

// Exec implements interpreter.InterpretableV2.
func (c *meteredConditional) Exec(frame *interpreter.ExecutionFrame) value {
	if m := meterOf(frame); m != nil {
		if r := m.enter(frame, 2); r != nil { // with one for the condition of the loop
			return types.WrapErr(r)
		}
	}
	return c.InterpretableAttribute.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (c *meteredConditional) Eval(variables interpreter.Activation) value {
	return c.Exec(interpreter.AsFrame(variables))
}

// meterOf returns the meter of an evaluation, or nil.
func meterOf(frame *interpreter.ExecutionFrame) *Meter {
	v, _ := frame.ResolveName(Variable)
	m, _ := v.(*Meter)
	return m
}
