package expression

import (
	"errors"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// keptByCall is the number of values that cel-go keeps, until the end of a loop, for each call of the functions that
// are called in each iteration: the condition of all and exists, whose iterations also keep their result, and the
// additions of map.
var keptByCall = map[string]int{operators.NotStrictlyFalse: 2, operators.Add: 1, "cel.@mapInsert": 1, "@mapInsert": 1}

// meteredCall is a call that may be in a loop.
type meteredCall struct {
	interpreter.InterpretableCall
	keeps int
}

// Exec implements interpreter.InterpretableV2.
func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) value {
	m := meterOf(frame)
	if m == nil {
		return c.InterpretableCall.Exec(frame)
	}
	if c.keeps > 0 {
		if r := m.iterate(frame, c.keeps); r != nil {
			return types.WrapErr(r)
		}
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

// meteredAttribute is a variable with its fields, or a ? b : c. The latter keeps two values in a loop: its own, and
// that of the condition of the loop.
type meteredAttribute struct {
	interpreter.InterpretableAttribute
	keeps int
}

// Exec implements interpreter.InterpretableV2.
func (a *meteredAttribute) Exec(frame *interpreter.ExecutionFrame) value {
	m := meterOf(frame)
	if m == nil {
		return a.InterpretableAttribute.Exec(frame)
	}
	r := m.search(frame)
	if r == nil && a.keeps > 0 {
		r = m.iterate(frame, a.keeps)
	}
	if r != nil {
		return types.WrapErr(r)
	}
	result := a.InterpretableAttribute.Exec(frame)
	if decoded, ok := result.(types.Bytes); ok { // a field of the format byte is decoded each time
		const perByte = 4
		m.add(len(decoded) * perByte)
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (a *meteredAttribute) Eval(variables interpreter.Activation) value {
	return a.Exec(interpreter.AsFrame(variables))
}

// meterOf returns the meter of an evaluation, or nil.
func meterOf(frame *interpreter.ExecutionFrame) *Meter {
	v, _ := frame.ResolveName(Variable)
	m, _ := v.(*Meter)
	return m
}
