package admissionregistration

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// Limits of a status. Kubernetes has none; a policy has at most maxExpressions expressions to warn about.
const (
	maxStatusItems = 1_000
	// maxFieldRef is the length of a JSONPath, in bytes. The parser calls itself for each step of the path.
	maxFieldRef = 256
)

// validatePolicyStatus validates the warnings of the type checker, and the conditions.
func validatePolicyStatus(s *admissionv1.ValidatingAdmissionPolicyStatus, path *field.Path) (errs fieldErrors) {
	if s.TypeChecking != nil {
		errs = append(errs, validateExpressionWarnings(s.TypeChecking.ExpressionWarnings,
			path.Child("typeChecking", "expressionWarnings"))...)
	}
	if n := len(s.Conditions); n > maxStatusItems {
		return append(errs, field.TooMany(path.Child("conditions"), n, maxStatusItems))
	}
	return append(errs, metav1validation.ValidateConditions(s.Conditions, path.Child("conditions"))...)
}

func validateExpressionWarnings(all []admissionv1.ExpressionWarning, path *field.Path) (errs fieldErrors) {
	if n := len(all); n > maxStatusItems {
		return fieldErrors{field.TooMany(path, n, maxStatusItems)}
	}
	for i, w := range all {
		if w.Warning == "" {
			errs = append(errs, field.Required(path.Index(i).Child("warning"), ""))
		}
		errs = append(errs, validateFieldRef(w.FieldRef, path.Index(i).Child("fieldRef"))...)
	}
	return errs
}

// validateFieldRef requires a JSONPath, such as spec.validations[0].expression.
func validateFieldRef(ref string, path *field.Path) fieldErrors {
	ref = strings.TrimSpace(ref)
	switch {
	case ref == "":
		return fieldErrors{field.Required(path, "")}
	case len(ref) > maxFieldRef:
		return fieldErrors{field.TooLong(path, "", maxFieldRef)}
	}
	if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
		return fieldErrors{field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err))}
	}
	return nil
}
