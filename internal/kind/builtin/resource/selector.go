package resource

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// maxSelectors is the number of selectors of a request or class.
const maxSelectors = resourcev1.DeviceSelectorsMaxSize

const (
	// selectorCost is the cost of compiling a short expression, in the unit of expression.CompileCost. Compiling it
	// takes nearly a millisecond.
	selectorCost = 150_000
	// repetitionCost is the cost of a repetition in a regular expression: x{1000} has a thousand.
	repetitionCost = 400
	// maxCompileCost is the highest cost of the expressions of one object: a second. One expression of the maximum
	// length takes half of it. Kubernetes has no such limit.
	maxCompileCost = 2 * expression.MaxCompileCost
)

// compilation compiles the expressions of one object, until their cost is too high.
type compilation struct {
	cost  int
	valid map[string]bool // expressions that compiled
}

func newCompilation() *compilation { return &compilation{valid: map[string]bool{}} }

// checkSelector compiles the expression of a selector. A nil compilation accepts any expression.
func (c *compilation) checkSelector(s *resourcev1.DeviceSelector, path *field.Path) (f findings) {
	at := path.Child("cel")
	if s.CEL == nil {
		f.write(field.Required(at, ""))
		return f
	}
	if c != nil {
		f.write(c.compile(s.CEL.Expression, at.Child("expression"))...)
	}
	return f
}

func (c *compilation) compile(text string, path *field.Path) field.ErrorList {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		return field.ErrorList{field.TooLong(path, "", resourcev1.CELSelectorExpressionMaxLength)}
	}
	if c.valid[text] {
		return nil
	}
	c.cost += selectorCost + expression.CompileCost(text) + repetitionCost*expression.Repetitions(text)
	if c.cost > maxCompileCost {
		return nil // checkCost reports it
	}
	cost, err := selectors().cost(text)
	if invalid, ok := errors.AsType[*invalidExpression](err); ok {
		return field.ErrorList{field.Invalid(path, text, invalid.detail)}
	} else if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if cost > resourcev1.CELSelectorExpressionMaxCost {
		return field.ErrorList{field.Forbidden(path, "too complex, exceeds cost limit")}
	}
	c.valid[text] = true
	return nil
}

// checkCost returns an error if some expressions were not compiled, because all of them together take too long.
func (c *compilation) checkCost(path *field.Path) (f findings) {
	if c != nil && c.cost > maxCompileCost {
		f.write(field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("the CEL expressions are too many or too long "+
			"to compile, or their types too large: they cost %d, and may cost %d", c.cost, maxCompileCost)))
	}
	return f
}

// invalidExpression is the error of an expression that does not compile or has the wrong type.
type invalidExpression struct{ detail string }

// Error implements error.
func (e *invalidExpression) Error() string { return e.detail }

// selectorCompiler compiles the expressions of selectors, which have one variable, device.
type selectorCompiler struct {
	env       *cel.Env
	estimator *library.CostEstimator
}

// selectors returns the compiler. It is created on first use, which takes milliseconds.
var selectors = sync.OnceValue(func() *selectorCompiler {
	device := deviceType()
	set, err := expression.Environment().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 34),
		EnvOptions: []cel.EnvOption{
			ext.Bindings(ext.BindingsVersion(0)),
			cel.Variable(deviceVariable, device.CelType()),
		},
		DeclTypes: []*apiservercel.DeclType{device},
	})
	if err != nil {
		panic(fmt.Sprintf("the environment of device selectors: %v", err)) // the options are constant
	}
	return &selectorCompiler{
		env:       set.NewExpressionsEnv(),
		estimator: &library.CostEstimator{SizeEstimator: deviceSizes{device}},
	}
})

// cost compiles an expression and returns the highest cost of its evaluation. The error is an invalidExpression if the
// expression does not compile or has the wrong type.
func (s *selectorCompiler) cost(text string) (uint64, error) {
	ast, issues := s.env.Compile(text)
	if issues != nil {
		return 0, &invalidExpression{"compilation failed: " + issues.String()}
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(attributeType.CelType()) {
		return 0, &invalidExpression{fmt.Sprintf("must evaluate to %v or the unknown type, not %v", cel.BoolType, t)}
	}
	if _, err := s.env.Program(ast, cel.CostLimit(resourcev1.CELSelectorExpressionMaxCost),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency)); err != nil {
		return 0, fmt.Errorf("program instantiation failed: %w", err)
	}
	estimate, err := s.env.EstimateCost(ast, s.estimator)
	if err != nil {
		return 0, fmt.Errorf("cost estimation failed: %w", err)
	}
	return estimate.Max, nil
}
