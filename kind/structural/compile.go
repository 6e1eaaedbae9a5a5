package structural

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// compiled is the schema of a version in the forms that the libraries work with. All are nil for a version without a
// schema, and structural is nil for a schema that is not structural, which only a v1beta1 definition may have.
type compiled struct {
	structural *schema.Structural
	whole      validation.SchemaValidator
	// status checks the status alone, for writes through the status subresource.
	status validation.SchemaValidator
	rules  rules
}

// props reads the schema of the version; nil when it has none.
func (v *definedVersion) props() (*apiextensionsv1.JSONSchemaProps, error) {
	if v == nil || v.raw == nil {
		return nil, nil
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(v.raw, props); err != nil {
		return nil, err
	}
	return props, nil
}

// compile makes the compiled form of a version. It runs once, when the first object of the version comes.
func (k *Kind) compile(v *definedVersion) (*compiled, error) {
	props, err := v.internalProps()
	if err != nil {
		return nil, fmt.Errorf("the schema of %s in %s cannot be read: %w", k.info.Kind, v.apiVersion, err)
	}
	if props == nil {
		return &compiled{}, nil
	}
	c := &compiled{}
	if c.structural, err = k.structure(props); err != nil {
		return nil, fmt.Errorf("the schema of %s in %s is not structural: %w", k.info.Kind, v.apiVersion, err)
	}
	if c.whole, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("the schema of %s in %s cannot validate: %w", k.info.Kind, v.apiVersion, err)
	}
	if status, ok := props.Properties["status"]; ok {
		if c.status, _, err = validation.NewSchemaValidator(&status); err != nil {
			return nil, fmt.Errorf("the schema of the status of %s in %s cannot validate: %w", k.info.Kind, v.apiVersion, err)
		}
	}
	c.rules = rulesOf(c.structural)
	return c, nil
}

// internalProps is the schema in the form that the libraries take.
func (v *definedVersion) internalProps() (*apiextensions.JSONSchemaProps, error) {
	props, err := v.props()
	if props == nil || err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	return internal, nil
}

// structure makes the structural schema. Its defaults lose what the schema would prune, so that a defaulted object is
// as one that was sent.
func (k *Kind) structure(props *apiextensions.JSONSchemaProps) (*schema.Structural, error) {
	s, err := schema.NewStructural(props)
	if k.preserve {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s = s.DeepCopy()
	return s, defaulting.PruneDefaults(s)
}
