package structural

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validator runs the quick check, and the library's validator if that is inconclusive.
type validator struct {
	quick *fastValidator
	// library creates the library's validator on first use, because it holds another copy of the schema.
	library func() (validation.SchemaValidator, error)
}

// newValidator returns the validator of a schema. again decodes another copy of the schema.
func newValidator(props *apiextensions.JSONSchemaProps,
	again func() (*apiextensions.JSONSchemaProps, error)) (*validator, error) {
	_, open, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &validator{newFastValidator(open), sync.OnceValues(func() (validation.SchemaValidator, error) {
		props, err := again()
		if err != nil {
			return nil, err
		}
		library, _, err := validation.NewSchemaValidator(props)
		return library, err
	})}, nil
}

// Validate implements validation.SchemaCreateValidator.
func (v *validator) Validate(value any, options ...validation.ValidationOption) *validate.Result {
	return v.ask(value, func(library validation.SchemaValidator) *validate.Result {
		return library.Validate(value, options...)
	})
}

// ValidateUpdate implements validation.SchemaValidator.
func (v *validator) ValidateUpdate(value, old any, options ...validation.ValidationOption) *validate.Result {
	return v.ask(value, func(library validation.SchemaValidator) *validate.Result {
		return library.ValidateUpdate(value, old, options...)
	})
}

func (v *validator) ask(value any, judge func(library validation.SchemaValidator) *validate.Result) *validate.Result {
	if v.quick.valid(value) {
		return &validate.Result{}
	}
	library, err := v.library()
	if err != nil {
		return &validate.Result{Errors: []error{err}}
	}
	return judge(library)
}
