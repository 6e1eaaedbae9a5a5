package structural

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// maxSchemaErrors is the number of errors after which the validation of a value against a schema stops. The library
// compares each error with all others, at each level of the value: 90,000 wrong items take minutes.
const maxSchemaErrors = 1_000

var errManyErrors = fmt.Errorf("the validation stopped after %d errors", maxSchemaErrors)

// errorLimit makes validators of the library that stop after some errors. It is used for one value.
type errorLimit struct{ left int }

// validateLimited validates a value like the library, and stops after maxSchemaErrors. It does not stop within the
// schemas of allOf, anyOf, oneOf and not.
func validateLimited(s *spec.Schema, value any) *validate.Result {
	limit := &errorLimit{left: maxSchemaErrors}
	result := validate.NewSchemaValidator(s, nil, "", strfmt.Default, limit.option).Validate(value)
	if limit.left <= 0 {
		result.Errors = append(result.Errors, errManyErrors)
	}
	return result
}

// option makes the validator of a value create limited validators for its fields and items.
func (l *errorLimit) option(o *validate.SchemaValidatorOptions) {
	o.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, formats strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		return l.validator(s, root, path, formats)
	}
	o.NewValidatorForField = func(_ string, s *spec.Schema, root any, path string, formats strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		return l.validator(s, root, path, formats)
	}
}

func (l *errorLimit) validator(s *spec.Schema, root any, path string, formats strfmt.Registry) validate.ValueValidator {
	v := &limitedValidator{limit: l}
	if l.left > 0 {
		v.SchemaValidator = validate.NewSchemaValidator(s, root, path, formats, l.option)
	}
	return v
}

// limitedValidator validates nothing if its SchemaValidator is nil.
type limitedValidator struct {
	*validate.SchemaValidator
	limit *errorLimit
}

// SetPath implements validate.ValueValidator.
func (v *limitedValidator) SetPath(path string) {
	if v.SchemaValidator != nil {
		v.SchemaValidator.SetPath(path)
	}
}

// Validate implements validate.ValueValidator. The errors of nested values, which were counted before, are part of the
// result.
func (v *limitedValidator) Validate(data any) *validate.Result {
	if v.SchemaValidator == nil {
		return &validate.Result{}
	}
	before := v.limit.left
	result := v.SchemaValidator.Validate(data)
	v.limit.left = min(v.limit.left, before-len(result.Errors))
	return result
}

// hasManyValues reports whether a value has more fields and items than errors may be reported.
func hasManyValues(value any) bool {
	left := maxSchemaErrors
	return !countDown(value, &left)
}

// countDown subtracts the number of fields and items from left, and returns false once that is negative.
func countDown(value any, left *int) bool {
	switch v := value.(type) {
	case []any:
		*left -= len(v)
		for _, item := range v {
			if *left < 0 || !countDown(item, left) {
				return false
			}
		}
	case map[string]any:
		*left -= len(v)
		for _, field := range v {
			if *left < 0 || !countDown(field, left) {
				return false
			}
		}
	}
	return *left >= 0
}
