// Package expression provides Kubernetes' environment of CEL, and limits what Kubernetes' cost of an expression does
// not cover. That cost is calculated from the sizes of the arguments of a function, after the call. It does not know
//
//   - how many states a regular expression has: (.*a){500} on a text of 2 MB takes a minute;
//   - how many digits a quantity has: quantity('1e999999999') takes hours, and cannot be interrupted;
//   - that a comparison visits all parts of its values, and that a text is searched for a long text at each position;
//   - that calculating the cost itself takes time in proportion to the square of a list's length, because cel-go
//     keeps the values of all iterations of a loop and searches them in each iteration. A rule such as
//     self.all(x, x != 2) takes 46 s for 99,000 items.
//
// A program that was compiled in [Environment] refuses a call that alone would cost more than an expression may, or
// whose quantity has too many digits, and charges the real costs of patterns, searches and comparisons. The caller
// passes a [Meter] in the variable [Variable], which limits loops and keeps the first refusal. Kubernetes' library
// makes the variables of match conditions itself: [Metered] adds the meter to them.
package expression

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Environment returns Kubernetes' environment with the limits of this package. Creating it takes milliseconds, once.
func Environment() *environment.EnvSet { return limited() }

var limited = sync.OnceValue(func() *environment.EnvSet {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	calls, err := limitedFunctions(base.StoredExpressionsEnv())
	if err != nil {
		panic(fmt.Sprintf("the functions of Kubernetes' environment of CEL: %v", err)) // they are constant
	}
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		ProgramOptions: []cel.ProgramOption{
			cel.CustomDecorator(calls.decorate),
			cel.OptimizeRegex(
				constantPattern(overloads.Matches, overloads.Matches, matches),
				constantPattern(overloads.Matches, overloads.MatchesString, matches),
				constantPattern("find", findText, find),
				constantPattern("findAll", findAllText, findAll),
				constantPattern("findAll", findSomeText, findAll),
			),
			cel.CostTrackerOptions(trackers()...),
		},
	})
	if err != nil {
		panic(fmt.Sprintf("extending Kubernetes' environment of CEL: %v", err)) // the options are constant
	}
	return extended
})

type value = ref.Val

// limitedCalls are the implementations of the functions that refuse a costly call, by overload or function.
type limitedCalls map[string]functions.FunctionOp

// limitedFunctions returns the implementations of env with limits.
func limitedFunctions(env *cel.Env) (limitedCalls, error) {
	calls := limitedCalls{}
	for name, function := range env.Functions() {
		if refusals[name] == nil {
			continue
		}
		bindings, err := function.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			calls[b.Operator] = limitedBinding(refusals[name], implementation(b))
		}
	}
	// cel-go evaluates these operators without a binding.
	calls[operators.Equals] = limitedBinding(refuseCost(visitCost), func(args ...value) value {
		return types.Equal(args[0], args[1])
	})
	calls[operators.NotEquals] = limitedBinding(refuseCost(visitCost), func(args ...value) value {
		return types.Bool(types.Equal(args[0], args[1]) != types.True)
	})
	return calls, nil
}

// implementation returns the function of a binding for any number of arguments.
func implementation(b *functions.Overload) functions.FunctionOp {
	switch {
	case b.Unary != nil:
		return func(args ...value) value { return b.Unary(args[0]) }
	case b.Binary != nil:
		return func(args ...value) value { return b.Binary(args[0], args[1]) }
	}
	return b.Function
}

// decorate replaces the calls of limited functions, and meters calls and attributes.
func (c limitedCalls) decorate(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch i := i.(type) {
	case interpreter.InterpretableCall:
		limited := c[i.OverloadID()]
		if limited == nil {
			limited = c[i.Function()] // one for all overloads, also of arguments whose type is not known
		}
		if limited != nil {
			i = interpreter.NewCall(i.ID(), i.Function(), i.OverloadID(), i.Args(), limited)
		}
		keeps := keptByCall[i.Function()]
		if i.Function() == operators.Add && i.OverloadID() != "" && i.OverloadID() != overloads.AddList {
			keeps = 0 // numbers and texts
		}
		return &meteredCall{i, keeps}, nil
	case interpreter.InterpretableAttribute:
		if fmt.Sprintf("%T", i) != plainAttribute {
			return i, nil // such as has(a.b), which cel-go tells by its type
		}
		attribute := &meteredAttribute{InterpretableAttribute: i}
		if fmt.Sprintf("%T", i.Attr()) == conditionalAttribute {
			attribute.keeps = 2
		}
		return attribute, nil
	}
	return i, nil
}

// Types of cel-go that are not exported: a variable with its fields, and a ? b : c.
const (
	plainAttribute       = "*interpreter.evalAttr"
	conditionalAttribute = "*interpreter.conditionalAttribute"
)
