package admissionregistration

import (
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// policyInfo returns the Info of a kind of policies or bindings.
func policyInfo(name, plural string) kind.Info {
	return kind.Info{
		Kind: name, Plural: plural, Singular: strings.ToLower(name), Categories: []string{"api-extensions"},
		Endpoints:  []kind.Endpoint{{Group: admissionv1.GroupName, Version: "v1"}},
		Generation: true, ConditionalUpdate: true,
	}
}

// mutatingInfo returns the data of a kind for mutating policies. Its endpoint v1beta1, with the JSON, protobuf and
// defaults of v1, is off by default.
func mutatingInfo(name, plural string) kind.Info {
	info := policyInfo(name, plural)
	info.Endpoints = append(info.Endpoints, kind.Endpoint{Group: admissionv1.GroupName, Version: "v1beta1",
		Unserved: true, Deprecated: legacy + " " + name + " is deprecated in v1.37+, unavailable in v1.40+; use " +
			hub + " " + name})
	return info
}

// policyView refers to the parts of a policy that both kinds have.
type policyView struct {
	params     *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	conditions []admissionv1.MatchCondition
	variables  []admissionv1.Variable
	failure    *admissionv1.FailurePolicyType
	mutates    bool
	// own holds the expressions that only one of the kinds has: validations or mutations.
	own []source
}

// sources returns all expressions of the policy.
func (v *policyView) sources() []source {
	all := make([]source, 0, len(v.conditions)+len(v.variables)+len(v.own))
	for _, c := range v.conditions {
		all = append(all, source{conditionRole, c.Expression})
	}
	for _, variable := range v.variables {
		all = append(all, source{variableRole, variable.Expression})
	}
	return append(all, v.own...)
}

// validatePolicy validates the parts that both kinds have. c compiles the expressions of v; old is nil on create.
func validatePolicy(v, old *policyView, c *compilation, path *field.Path) fieldErrors {
	errs := choice(v.failure, failures, path.Child("failurePolicy"))
	if v.params != nil {
		errs = append(errs, validateParamKind(*v.params, path.Child("paramKind"))...)
	}
	errs = append(errs, validateConstraints(v.match, v.mutates, path.Child("matchConstraints"))...)
	if old == nil || !sameMatch(v, old) {
		errs = append(errs, c.validateConditions(path.Child("matchConditions"))...)
	}
	return append(errs, c.validateVariables(path.Child("variables"))...)
}

// sameMatch reports whether an update retains the parameters and the match conditions of a policy.
func sameMatch(v, old *policyView) bool {
	return equality.Semantic.DeepEqual(v.params, old.params) && slices.Equal(v.conditions, old.conditions)
}

// validateVariables validates the variables, each of which may use the variables before it.
func (c *compilation) validateVariables(path *field.Path) (errs fieldErrors) {
	for i, v := range c.policy.variables {
		at := path.Index(i)
		switch {
		case strings.TrimSpace(v.Name) == "":
			errs = append(errs, field.Required(at.Child("name"), "name is not specified"))
		case !isIdentifier(v.Name):
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		switch {
		case strings.TrimSpace(v.Expression) == "":
			errs = append(errs, field.Required(at.Child("expression"), "expression is not specified"))
		case !c.sameVariables:
			errs = append(errs, c.addVariable(v, at.Child("expression"))...)
		}
	}
	return errs
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// reserved are the words of CEL's grammar that cannot be the name of a variable.
var reserved = []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
	"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}

func isIdentifier(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(reserved, name)
}

// validateConditions validates the match conditions. Unlike those of webhooks, they may use parameters.
func (c *compilation) validateConditions(path *field.Path) (errs fieldErrors) {
	if n := len(c.policy.conditions); n > maxConditions {
		errs = append(errs, field.TooMany(path, n, maxConditions))
	}
	names := map[string]bool{}
	for i, one := range c.policy.conditions {
		at := path.Index(i)
		errs = append(errs, c.checkRequired(source{conditionRole, one.Expression}, at)...)
		if one.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, fieldcheck.QualifiedName(at.Child("name"), one.Name)...)
		if names[one.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), one.Name))
		}
		names[one.Name] = true
	}
	return errs
}

// choice requires one of the supported values.
func choice[T ~string](value *T, supported []T, path *field.Path) fieldErrors {
	if value == nil {
		return fieldErrors{field.Required(path, "")}
	}
	return oneOf(value, supported, path)
}

// validateNewName rejects names with the suffix that Kubernetes reserves for policies in files of the server. An
// existing object may have such a name; its updates return a warning.
func validateNewName(name string) fieldErrors {
	if !strings.HasSuffix(name, staticSuffix) {
		return nil
	}
	return fieldErrors{field.Invalid(field.NewPath("metadata", "name"), name, `names ending with "`+staticSuffix+
		`" are reserved for static manifest-based configurations and cannot be managed via the API`)}
}

// nameWarnings are the warnings of a write. A create has none, because validateNewName rejects the name.
func nameWarnings(name string, update bool) []string {
	if !update {
		return nil
	}
	return warnings(name)
}

// unset is the table cell for missing parameters.
const unset = "<unset>"

// policyColumns returns the columns of a policy; the arguments describe its second column.
func policyColumns(name, description string) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: name, Type: "integer", Description: description},
		{Name: "ParamKind", Type: "string",
			Description: "ParamKind specifies the kind of resources used to parameterize this policy"},
		kind.AgeColumn,
	}
}

func paramKindCell(params *admissionv1.ParamKind) string {
	if params == nil {
		return unset
	}
	return params.APIVersion + "/" + params.Kind
}
