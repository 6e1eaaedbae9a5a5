package validatingadmissionpolicystatus

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// declarations are the variables of a policy's expressions, besides the object.
type declarations struct {
	paramKind schema.GroupVersionKind // empty without parameters
	params    *apiservercel.DeclType  // nil if the type is not known
	variables []admissionv1.Variable
}

// check checks expressions for objects of a kind, whose type is nil if it is not known. It appends the errors in an
// expression to its result.
func (d declarations) check(ctx context.Context, kind schema.GroupVersionKind, object *apiservercel.DeclType,
	expressions []expression, results []string) error {
	compiler, err := d.compiler(object)
	if err != nil {
		return nil // as in Kubernetes: such types cannot be checked
	}
	for _, v := range d.variables {
		if err := ctx.Err(); err != nil {
			return err
		}
		compiler.CompileAndStoreVariable(namedExpression{celExpression(v.Expression), v.Name},
			plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	}
	for i, e := range expressions {
		if err := ctx.Err(); err != nil {
			return err
		}
		result := compiler.CompileCELExpression(celExpression(e.text), plugincel.OptionalVariableDeclarations{},
			environment.StoredExpressions)
		if text := describe(kind, result.Error); text != "" && results[i] != "" {
			results[i] += "\n" + text
		} else {
			results[i] += text
		}
	}
	return nil
}

// describe returns the text of an error, which may be nil, in the words of Kubernetes.
func describe(kind schema.GroupVersionKind, err *apiservercel.Error) string {
	switch {
	case err == nil:
		return ""
	case err.Type == apiservercel.ErrorTypeInvalid:
		return fmt.Sprintf("%v: %s\n", kind, err)
	}
	return fmt.Sprintf("%v: type checking error: %v\n", kind, err)
}

// compiler returns a compiler that only checks types.
func (d declarations) compiler(object *apiservercel.DeclType) (*plugincel.CompositedCompiler, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	options := environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), // in every version
		DeclTypes:         []*apiservercel.DeclType{namespace, request},
		EnvOptions: []cel.EnvOption{
			cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
			cel.Variable(plugincel.RequestVarName, request.CelType()),
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
		},
	}
	declare := func(t *apiservercel.DeclType, names ...string) {
		celType := cel.DynType
		if t != nil {
			options.DeclTypes, celType = append(options.DeclTypes, t), t.CelType()
		}
		for _, name := range names {
			options.EnvOptions = append(options.EnvOptions, cel.Variable(name, celType))
		}
	}
	declare(object, plugincel.ObjectVarName, plugincel.OldObjectVarName)
	if !d.paramKind.Empty() {
		declare(d.params, plugincel.ParamsVarName)
	}
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(options)
	if err != nil {
		return nil, err
	}
	compiler, err := plugincel.NewCompositedCompilerForTypeChecking(extended)
	if err != nil {
		return nil, err
	}
	compiler.Compiler = typeCompiler{compiler}
	return compiler, nil
}

// typeCompiler checks types, and creates no programs.
type typeCompiler struct{ in *plugincel.CompositedCompiler }

// CompileCELExpression implements plugincel.Compiler. Any type is accepted.
func (c typeCompiler) CompileCELExpression(e plugincel.ExpressionAccessor, _ plugincel.OptionalVariableDeclarations,
	mode environment.Type) plugincel.CompilationResult {
	env, err := c.in.Env(mode)
	if err != nil {
		return plugincel.CompilationResult{ExpressionAccessor: e, Error: &apiservercel.Error{
			Type: apiservercel.ErrorTypeInternal, Detail: fmt.Sprintf("fail to build env: %v", err)}}
	}
	ast, issues := env.Compile(e.GetExpression())
	if issues != nil {
		return plugincel.CompilationResult{ExpressionAccessor: e, Error: &apiservercel.Error{
			Type: apiservercel.ErrorTypeInvalid, Detail: issues.String()}}
	}
	return plugincel.CompilationResult{OutputType: ast.OutputType()}
}

// Expressions, as Kubernetes' compiler reads them.
type (
	celExpression   string
	namedExpression struct {
		celExpression
		name string
	}
)

// GetExpression implements plugincel.ExpressionAccessor.
func (e celExpression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (celExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// GetName implements plugincel.NamedExpressionAccessor.
func (e namedExpression) GetName() string { return e.name }
