package policy

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// compiled is the programs of a policy.
type compiled struct {
	conditions, validations, annotations []plugincel.CompilationResult
	// messages are those of the validations; nil for a validation without a messageExpression.
	messages  []*plugincel.CompilationResult
	variables []variable
}

// variable is a compiled variable.
type variable struct {
	name string
	plugincel.CompilationResult
}

// compile compiles the expressions of a policy, with the errors of those that do not compile. It takes a millisecond
// for each, and some more for a policy with variables.
func compile(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) *compiled {
	declared := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	inMessages := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	c, compiler := &compiled{}, withoutVariables()
	if len(spec.Variables) > 0 {
		composition := newComposition() // its programs keep parts of it: 100 KB for a small policy
		compiler = composition
		for _, v := range spec.Variables {
			e := namedExpression{anyExpression(v.Expression), v.Name}
			c.variables = append(c.variables, variable{v.Name,
				composition.CompileAndStoreVariable(e, declared, environment.StoredExpressions)})
		}
	}
	add := func(to *[]plugincel.CompilationResult, e plugincel.ExpressionAccessor) {
		*to = append(*to, compiler.CompileCELExpression(e, declared, environment.StoredExpressions))
	}
	for _, one := range spec.MatchConditions {
		add(&c.conditions, boolExpression(one.Expression))
	}
	for _, one := range spec.Validations {
		add(&c.validations, boolExpression(one.Expression))
		var message *plugincel.CompilationResult
		if one.MessageExpression != "" {
			message = new(compiler.CompileCELExpression(textExpression(one.MessageExpression), inMessages,
				environment.StoredExpressions))
		}
		c.messages = append(c.messages, message)
	}
	for _, one := range spec.AuditAnnotations {
		add(&c.annotations, optionalTextExpression(one.ValueExpression))
	}
	return c
}

// withoutVariables is the compiler for all policies without variables. Creating it takes milliseconds.
var withoutVariables = sync.OnceValue(func() plugincel.Compiler {
	return metered{plugincel.NewCompiler(expression.Environment())}
})

// newComposition returns a compiler for a policy with variables.
func newComposition() *plugincel.CompositedCompiler {
	c, err := plugincel.NewCompositedCompiler(expression.Environment())
	if err != nil {
		panic(fmt.Sprintf("extending Kubernetes' environment of CEL: %v", err)) // the options are constant
	}
	c.Compiler = metered{c.Compiler}
	return c
}

// metered compiles programs whose work counts against the budget of the write.
type metered struct{ plugincel.Compiler }

// CompileCELExpression implements plugincel.Compiler.
func (c metered) CompileCELExpression(e plugincel.ExpressionAccessor, o plugincel.OptionalVariableDeclarations,
	mode environment.Type) plugincel.CompilationResult {
	result := c.Compiler.CompileCELExpression(e, o, mode)
	if result.Program != nil {
		result.Program = expression.Metered(result.Program, expression.Terms(e.GetExpression()))
	}
	return result
}

// Expressions by the types that their results may have.
type (
	boolExpression         string
	textExpression         string
	optionalTextExpression string
	anyExpression          string
	namedExpression        struct {
		anyExpression
		name string
	}
)

var _ plugincel.NamedExpressionAccessor = namedExpression{}

// GetExpression implements plugincel.ExpressionAccessor.
func (e boolExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (boolExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.BoolType} }

// GetExpression implements plugincel.ExpressionAccessor.
func (e textExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (textExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.StringType} }

// GetExpression implements plugincel.ExpressionAccessor.
func (e optionalTextExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (optionalTextExpression) ReturnTypes() []*cel.Type {
	return []*cel.Type{cel.StringType, cel.NullType}
}

// GetExpression implements plugincel.ExpressionAccessor.
func (e anyExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (anyExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType, cel.DynType} }

// GetName implements plugincel.NamedExpressionAccessor.
func (e namedExpression) GetName() string { return e.name }
