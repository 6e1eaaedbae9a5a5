package admissionregistration

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// maxConditions is the maximum number of match conditions of a webhook.
const maxConditions = 64

// compiler compiles expressions as Kubernetes does. It is created on first use, which takes milliseconds.
var compiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(expression.Environment())
})

// costlyConditions returns an error if compiling the new conditions of all webhooks takes too long.
func costlyConditions(hooks []view, a allowances) *field.Error {
	cost := 0
	for _, h := range hooks {
		for _, c := range h.conditions {
			if !slices.Contains(a.expressions, c.Expression) {
				cost += expression.CompileCost(c.Expression)
			}
		}
	}
	if cost <= expression.MaxCompileCost {
		return nil
	}
	return field.Invalid(field.NewPath("webhooks"), field.OmitValueType{},
		fmt.Sprintf("the match conditions are too long to compile, or their types too large: they cost %d, and may "+
			"cost %d", cost, expression.MaxCompileCost))
}

// validateConditions checks that conditions have unique names and compile. Expressions in before may use
// features that new ones may not use yet.
func validateConditions(conditions []admissionv1.MatchCondition, before []string, path *field.Path) (errs fieldErrors) {
	if n := len(conditions); n > maxConditions {
		return append(errs, field.TooMany(path, n, maxConditions)) // compiling all of them takes seconds
	}
	names := map[string]bool{}
	for i, c := range conditions {
		at := path.Index(i)
		if expression := strings.TrimSpace(c.Expression); expression == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, compiles(expression, slices.Contains(before, expression), at.Child("expression"))...)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		for _, problem := range validation.IsQualifiedName(c.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), c.Name, problem))
		}
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
	}
	return errs
}

// compiles returns the errors of an expression; stored is set for one that the old object had.
func compiles(expression string, stored bool, path *field.Path) fieldErrors {
	mode := environment.NewExpressions
	if stored {
		mode = environment.StoredExpressions
	}
	condition := &matchconditions.MatchCondition{Expression: expression}
	err := compiler().CompileCELExpression(condition, plugincel.OptionalVariableDeclarations{HasAuthorizer: true},
		mode).Error
	switch {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeRequired:
		return fieldErrors{field.Required(path, err.Detail)}
	case err.Type == apiservercel.ErrorTypeInvalid:
		return fieldErrors{field.Invalid(path, expression, err.Detail)}
	}
	return fieldErrors{field.InternalError(path, err)}
}
