package policy

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	mutationtypes "k8s.io/apiserver/pkg/cel/mutation"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// compiled is the programs of a policy.
type compiled struct {
	conditions, validations, annotations []plugincel.CompilationResult
	// messages are those of the validations; nil for a validation without a messageExpression.
	messages  []*plugincel.CompilationResult
	variables []variable
	mutations []mutation
}

// variable is a compiled variable.
type variable struct {
	name string
	plugincel.CompilationResult
}

// mutation is a compiled mutation.
type mutation struct {
	patchType admissionregistrationv1.PatchType
	plugincel.CompilationResult
}

// compiler compiles the expressions of a policy, with the errors of those that do not compile. An expression takes a
// millisecond, and a policy with variables some more.
type compiler struct {
	plugincel.Compiler
	declared plugincel.OptionalVariableDeclarations
	*compiled
}

// newCompiler returns a compiler in an environment, for which shared is the compiler of policies without variables. It
// compiles the variables and conditions.
func newCompiler(in *environment.EnvSet, shared plugincel.Compiler, params *admissionregistrationv1.ParamKind,
	variables []admissionregistrationv1.Variable, conditions []admissionregistrationv1.MatchCondition) *compiler {
	c := &compiler{Compiler: shared, compiled: &compiled{},
		declared: plugincel.OptionalVariableDeclarations{HasParams: params != nil, HasAuthorizer: true}}
	if len(variables) > 0 {
		composition := newComposition(in) // its programs keep parts of it: 100 KB for a small policy
		c.Compiler = composition
		for _, v := range variables {
			e := namedExpression{anyExpression(v.Expression), v.Name}
			c.variables = append(c.variables, variable{v.Name,
				composition.CompileAndStoreVariable(e, c.declared, environment.StoredExpressions)})
		}
	}
	for _, one := range conditions {
		c.conditions = append(c.conditions, c.compile(boolExpression(one.Expression)))
	}
	return c
}

func (c *compiler) compile(e plugincel.ExpressionAccessor) plugincel.CompilationResult {
	return c.CompileCELExpression(e, c.declared, environment.StoredExpressions)
}

// compileValidating compiles a policy that validates.
func compileValidating(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) *compiled {
	c := newCompiler(expression.Environment(), withoutVariables(), spec.ParamKind, spec.Variables, spec.MatchConditions)
	inMessages := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	for _, one := range spec.Validations {
		c.validations = append(c.validations, c.compile(boolExpression(one.Expression)))
		var message *plugincel.CompilationResult
		if one.MessageExpression != "" {
			message = new(c.CompileCELExpression(textExpression(one.MessageExpression), inMessages,
				environment.StoredExpressions))
		}
		c.messages = append(c.messages, message)
	}
	for _, one := range spec.AuditAnnotations {
		c.annotations = append(c.annotations, c.compile(optionalTextExpression(one.ValueExpression)))
	}
	return c.compiled
}

// compileMutating compiles a policy that mutates.
func compileMutating(spec *admissionregistrationv1.MutatingAdmissionPolicySpec) *compiled {
	c := newCompiler(mutationEnvironment(), mutationsWithoutVariables(), spec.ParamKind, spec.Variables,
		spec.MatchConditions)
	for _, one := range spec.Mutations {
		switch {
		case one.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && one.ApplyConfiguration != nil:
			c.mutations = append(c.mutations, mutation{one.PatchType,
				c.compile(objectExpression(one.ApplyConfiguration.Expression))})
		case one.PatchType == admissionregistrationv1.PatchTypeJSONPatch && one.JSONPatch != nil:
			c.mutations = append(c.mutations, mutation{one.PatchType,
				c.compile(patchExpression(one.JSONPatch.Expression))})
		}
	}
	return c.compiled
}

// Compilers for all policies without variables. Creating one takes milliseconds.
var (
	withoutVariables = sync.OnceValue(func() plugincel.Compiler {
		return metered{plugincel.NewCompiler(expression.Environment())}
	})
	mutationsWithoutVariables = sync.OnceValue(func() plugincel.Compiler {
		return metered{plugincel.NewCompiler(mutationEnvironment())}
	})
)

// mutationEnvironment is the environment of policies that mutate: it has the types of objects and patches.
var mutationEnvironment = sync.OnceValue(func() *environment.EnvSet {
	extended, err := expression.Environment().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{common.ResolverEnvOption(typeResolver{}), library.JSONPatch()},
	})
	if err != nil {
		panic(fmt.Sprintf("adding types to Kubernetes' environment of CEL: %v", err)) // the options are constant
	}
	return extended
})

// newComposition returns a compiler for a policy with variables.
func newComposition(in *environment.EnvSet) *plugincel.CompositedCompiler {
	c, err := plugincel.NewCompositedCompiler(in)
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
	objectExpression       string
	patchExpression        string
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

// GetExpression implements plugincel.ExpressionAccessor.
func (e objectExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (objectExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.ObjectType("Object")} }

// GetExpression implements plugincel.ExpressionAccessor.
func (e patchExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (patchExpression) ReturnTypes() []*cel.Type {
	return []*cel.Type{cel.ListType(cel.ObjectType(mutationtypes.JSONPatchTypeName))}
}

// GetName implements plugincel.NamedExpressionAccessor.
func (e namedExpression) GetName() string { return e.name }
