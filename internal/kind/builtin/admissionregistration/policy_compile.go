package admissionregistration

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// compilation compiles the expressions of a policy as Kubernetes does. An update compiles an unchanged expression only
// if the parameters or variables of the policy have changed.
type compilation struct {
	policy *policyView
	before map[source]bool
	// sameParams and sameVariables compare the policy with the old object.
	sameParams, sameVariables bool
	// composed is the compiler that knows the variables of the policy. It is created on first use, which takes
	// milliseconds.
	composed *plugincel.CompositedCompiler
	types    typeBudget
	// failed is the number of expressions that do not compile. After maxFailed, the others are not compiled: a response
	// lists no more errors, and each may have 100 KB.
	failed int
}

const maxFailed = 100

// compile returns the compilation of a policy; old is nil on create.
func compile(v, old *policyView) *compilation {
	c := &compilation{policy: v, before: map[source]bool{}}
	if old == nil {
		return c
	}
	c.sameParams = (v.params == nil) == (old.params == nil)
	c.sameVariables = c.sameParams && slices.Equal(v.variables, old.variables)
	for _, s := range old.sources() {
		c.before[s] = true
	}
	return c
}

// check returns the errors of an expression.
func (c *compilation) check(s source, path *field.Path) fieldErrors {
	same := c.sameVariables
	if s.role == conditionRole {
		same = c.sameParams // conditions cannot use variables
	}
	if same && c.before[s] {
		return nil
	}
	if err := c.tooCostly(s, path); err != nil || c.failed >= maxFailed {
		return err
	}
	result := c.compiler(s.role).CompileCELExpression(named{source: s}, c.declarations(s.role), c.mode(s))
	return c.errorsOf(result.Error, s, path)
}

// mode returns the environment of an expression. New expressions may not use the newest features yet.
func (c *compilation) mode(s source) environment.Type {
	if c.before[s] {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

func (c *compilation) declarations(r role) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{
		HasParams:     c.policy.params != nil,
		HasAuthorizer: r != messageRole,
		HasPatchTypes: r == applyRole || r == patchRole,
	}
}

// compiler returns the compiler for expressions of a role.
func (c *compilation) compiler(r role) plugincel.Compiler {
	switch {
	case r == conditionRole || len(c.policy.variables) == 0 && !c.policy.mutates:
		return compiler()
	case len(c.policy.variables) == 0:
		return withoutVariables()
	}
	return c.composition()
}

// withoutVariables is the compiler for mutations of all policies that have no variables.
var withoutVariables = sync.OnceValue(newComposition)

func newComposition() *plugincel.CompositedCompiler {
	c, err := plugincel.NewCompositedCompiler(expression.Environment())
	if err != nil {
		panic(fmt.Sprintf("extending Kubernetes' environment of CEL: %v", err)) // the options are constant
	}
	return c
}

// composition returns the compiler to which validateVariables adds the variables of the policy. Variables of the old
// object are added at once, because validateVariables skips them.
func (c *compilation) composition() *plugincel.CompositedCompiler {
	if c.composed != nil {
		return c.composed
	}
	c.composed = newComposition()
	if c.sameVariables {
		for _, v := range c.policy.variables {
			if strings.TrimSpace(v.Expression) != "" {
				c.addVariable(v, nil)
			}
		}
	}
	return c.composed
}

// addVariable compiles a variable for use in later expressions, and returns the errors of its expression.
func (c *compilation) addVariable(v admissionv1.Variable, path *field.Path) fieldErrors {
	s, compiler := source{variableRole, v.Expression}, c.composition()
	if err := c.tooCostly(s, path); err != nil || c.failed >= maxFailed {
		return err
	}
	result := compiler.CompileAndStoreVariable(named{s, v.Name}, c.declarations(variableRole), c.mode(s))
	c.types.add(result.OutputType)
	return c.errorsOf(result.Error, s, path)
}

// tooCostly returns an error for an expression whose types may be too large.
func (c *compilation) tooCostly(s source, path *field.Path) fieldErrors {
	if c.types.allows(s.text()) {
		return nil
	}
	return fieldErrors{field.Invalid(path, s.shown(), largeTypes)}
}

// errorsOf converts the error of an expression to an error of its field.
func (c *compilation) errorsOf(err *apiservercel.Error, s source, path *field.Path) fieldErrors {
	if err == nil {
		return nil
	}
	c.failed++
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		return fieldErrors{field.Required(path, err.Detail)}
	case apiservercel.ErrorTypeInvalid:
		return fieldErrors{field.Invalid(path, s.shown(), err.Detail)}
	}
	return fieldErrors{field.InternalError(path, err)}
}

// named adapts a source to the interfaces of Kubernetes' compilers. Only a variable has a name.
type named struct {
	source
	name string
}

var _ plugincel.NamedExpressionAccessor = named{}

// GetExpression implements plugincel.ExpressionAccessor.
func (n named) GetExpression() string { return n.text() }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (n named) ReturnTypes() []*cel.Type { return n.role.types() }

// GetName implements plugincel.NamedExpressionAccessor.
func (n named) GetName() string { return n.name }
