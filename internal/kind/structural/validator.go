package structural

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validator runs the fast validator, and the library's validator if that is inconclusive.
type validator struct {
	fast  *fastValidator
	costs *valueCost
	// library creates the library's validator on first use, because it holds another copy of the schema.
	library func() (libraryValidator, error)
}

// libraryValidator is the library's validator and its schema.
type libraryValidator struct {
	validation.SchemaValidator
	schema *spec.Schema
}

// newValidator returns the validator of a schema. decodeAgain decodes another copy of the schema.
func newValidator(props *apiextensions.JSONSchemaProps,
	decodeAgain func() (*apiextensions.JSONSchemaProps, error)) (*validator, error) {
	_, open, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	library := sync.OnceValues(func() (libraryValidator, error) {
		props, err := decodeAgain()
		if err != nil {
			return libraryValidator{}, err
		}
		v, schema, err := validation.NewSchemaValidator(props)
		return libraryValidator{v, schema}, err
	})
	return &validator{newFastValidator(open), newValueCost(open), library}, nil
}

// Validate implements validation.SchemaCreateValidator.
func (v *validator) Validate(value any, options ...validation.ValidationOption) *validate.Result {
	return v.run(value, func(library validation.SchemaValidator) *validate.Result {
		return library.Validate(value, options...)
	})
}

// ValidateUpdate implements validation.SchemaValidator.
func (v *validator) ValidateUpdate(value, old any, options ...validation.ValidationOption) *validate.Result {
	return v.run(value, func(library validation.SchemaValidator) *validate.Result {
		return library.ValidateUpdate(value, old, options...)
	})
}

// run calls the library's validator unless the fast one accepts the value, or it has too many errors. An update of such
// a value is rejected even if its errors are older than the schema (KEP-4008).
func (v *validator) run(value any, byLibrary func(validation.SchemaValidator) *validate.Result) *validate.Result {
	if v.costs.exceeds(value) {
		return &validate.Result{Errors: []error{errValueCost}}
	}
	if v.fast.valid(value) {
		return &validate.Result{}
	}
	library, err := v.library()
	if err != nil {
		return &validate.Result{Errors: []error{err}}
	}
	if hasManyValues(value) {
		if r := validateLimited(library.schema, value); len(r.Errors) > maxSchemaErrors {
			return r
		}
	}
	return byLibrary(library)
}
