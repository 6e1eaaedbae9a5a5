package admissionregistration

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateParamKind validates the kind of a policy's parameters. The server need not serve this kind.
func validateParamKind(params admissionv1.ParamKind, path *field.Path) fieldErrors {
	errs := validateParamVersion(params.APIVersion, path.Child("apiVersion"))
	if params.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	if problems := validation.IsDNS1035Label(strings.ToLower(params.Kind)); len(problems) > 0 {
		errs = append(errs, field.Invalid(path.Child("kind"), params.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(problems, ",")))
	}
	return errs
}

func validateParamVersion(apiVersion string, path *field.Path) (errs fieldErrors) {
	if apiVersion == "" {
		return fieldErrors{field.Required(path, "")}
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return fieldErrors{field.Invalid(path, apiVersion, err.Error())}
	}
	if gv.Group != "" {
		errs = append(errs, joined(path, gv.Group, validation.IsDNS1123Subdomain(gv.Group))...)
	}
	if gv.Version == "" {
		return append(errs, field.Invalid(path, apiVersion, "version must be specified"))
	}
	return append(errs, joined(path, gv.Version, validation.IsDNS1035Label(gv.Version))...)
}

// joined returns one error with all messages about a value.
func joined(path *field.Path, value string, messages []string) fieldErrors {
	if len(messages) == 0 {
		return nil
	}
	return fieldErrors{field.Invalid(path, value, strings.Join(messages, ","))}
}

// notFoundActions are the supported actions for a binding whose parameters do not exist.
var notFoundActions = []admissionv1.ParameterNotFoundActionType{admissionv1.DenyAction, admissionv1.AllowAction}

// validateParamRef validates the reference of a binding to parameters, by name or by labels.
func validateParamRef(ref *admissionv1.ParamRef, path *field.Path) (errs fieldErrors) {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	both := ref.Name != "" && ref.Selector != nil
	if ref.Name != "" {
		errs = append(errs, fieldcheck.Invalid(path.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
	}
	if both {
		errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
	}
	errs = append(errs, validateSelector(ref.Selector, metav1validation.LabelSelectorValidationOptions{},
		path.Child("selector"))...)
	if both {
		errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
	}
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	at := path.Child("parameterNotFoundAction")
	if ref.ParameterNotFoundAction == nil {
		return append(errs, field.Required(at, ""))
	}
	return append(errs, fieldcheck.Choice(at, *ref.ParameterNotFoundAction, notFoundActions...)...)
}

// paramRefCell formats the reference for a table. A name without a namespace refers to an object in the namespace of
// the request, or to a cluster-scoped object.
func paramRefCell(ref *admissionv1.ParamRef) string {
	switch {
	case ref == nil || ref.Name == "" && ref.Selector == nil:
		return unset
	case ref.Name == "":
		return ref.Selector.String()
	case ref.Namespace == "":
		return "*/" + ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}
