package structural

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validator asks the quick check first and the library's validator only when that says nothing.
type validator struct {
	quick *quick
	// library is made when it is first asked: it holds the schema once more.
	library func() (validation.SchemaValidator, error)
}

// newValidator makes the validator of a schema. again reads the schema afresh.
func newValidator(props *apiextensions.JSONSchemaProps, again func() (*apiextensions.JSONSchemaProps, error)) (*validator, error) {
	_, open, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &validator{newQuick(open), sync.OnceValues(func() (validation.SchemaValidator, error) {
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
	return v.ask(value, func(library validation.SchemaValidator) *validate.Result { return library.Validate(value, options...) })
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
