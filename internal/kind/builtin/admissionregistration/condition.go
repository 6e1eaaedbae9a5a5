package admissionregistration

import (
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
)

// mostConditions is how many conditions a webhook may have.
const mostConditions = 64

// compiler compiles expressions as Kubernetes does. Making it takes milliseconds, which only those pay who have conditions.
var compiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// validateConditions wants conditions with names of their own that compile. Those that were there before may use what new ones
// may not yet.
func validateConditions(conditions []admissionv1.MatchCondition, before []string, path *field.Path) (errs fieldErrors) {
	if n := len(conditions); n > mostConditions {
		errs = append(errs, field.TooMany(path, n, mostConditions))
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
		for _, wrong := range validation.IsQualifiedName(c.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), c.Name, wrong))
		}
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
	}
	return errs
}

// compiles says what is wrong with an expression; stored is one that was there before.
func compiles(expression string, stored bool, path *field.Path) fieldErrors {
	mode := environment.NewExpressions
	if stored {
		mode = environment.StoredExpressions
	}
	condition := &matchconditions.MatchCondition{Expression: expression}
	err := compiler().CompileCELExpression(condition, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, mode).Error
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
