package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// errBudget is the error of a policy whose expressions cost too much.
var errBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will " +
	"be run")

// errBudgetUsed rejects a write if earlier policies have cost too much, even if the failure policy is Ignore.
var errBudgetUsed = errors.New("earlier policies have used up the cost budget of the request")

// evaluation evaluates a policy for a binding and a parameter.
type evaluation struct {
	ctx context.Context
	activation
}

// activation is the variables of the expressions.
type activation struct {
	*subject
	params, namespace, authorizer, rights, variables ref.Val
}

var _ interpreter.Activation = (*activation)(nil)

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case plugincel.ObjectVarName:
		return a.object, true
	case plugincel.OldObjectVarName:
		return a.oldObject, true
	case plugincel.ParamsVarName:
		return a.params, true
	case plugincel.RequestVarName:
		return a.request, true
	case plugincel.NamespaceVarName:
		return a.namespace, true
	case plugincel.AuthorizerVarName:
		return a.authorizer, true
	case plugincel.RequestResourceAuthorizerVarName:
		return a.rights, true
	case plugincel.VariableVarName:
		return a.variables, a.variables != nil
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (*activation) Parent() interpreter.Activation { return nil }

// lazy returns a map of variables, each of which is evaluated when an expression first uses it.
func (e *evaluation) lazy(variables []variable) ref.Val {
	values := lazy.NewMapValue(variablesType)
	for i := range variables {
		v := &variables[i]
		values.Append(v.name, func(*lazy.MapValue) ref.Val {
			if v.Error != nil {
				return types.NewErr("composited variable %q fails to compile: %v", v.name, v.Error)
			}
			value, _, err := v.Program.ContextEval(e.ctx, &e.activation)
			if err != nil {
				return types.NewErr("composited variable %q fails to evaluate: %v", v.name, err)
			}
			return value
		})
	}
	return values
}

// variablesType is the type of the map, as Kubernetes names it.
var variablesType = types.NewObjectType("kubernetes.variables")

// run evaluates an expression. failure is its error, which concerns no other expression; err ends the evaluation.
func (e *evaluation) run(p *plugincel.CompilationResult) (value ref.Val, failure, err error) {
	if p.Error != nil {
		return nil, fmt.Errorf("compilation error: %w", p.Error), nil
	}
	if expression.Exhausted(e.ctx) {
		return nil, nil, errBudget
	}
	value, _, failure = p.Program.ContextEval(e.ctx, &e.activation)
	if expression.Exhausted(e.ctx) {
		return nil, nil, errBudget
	}
	if failure != nil {
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", p.ExpressionAccessor.GetExpression(), failure), nil
	}
	return value, nil, nil
}

// meetsConditions reports whether the match conditions are met. They are evaluated without the namespace, as in
// Kubernetes. An error is returned only if no condition is false.
func (e *evaluation) meetsConditions(conditions []plugincel.CompilationResult) (bool, error) {
	if len(conditions) == 0 {
		return true, nil
	}
	namespace := e.namespace
	e.namespace = types.NullValue
	defer func() { e.namespace = namespace }()
	var failures []error
	for i := range conditions {
		value, failure, err := e.run(&conditions[i])
		switch {
		case err != nil:
			return false, err
		case failure != nil:
			failures = append(failures, failure)
		case value == types.False:
			return false, nil
		}
	}
	if len(failures) > 0 {
		return false, utilerrors.NewAggregate(failures)
	}
	return true, nil
}
