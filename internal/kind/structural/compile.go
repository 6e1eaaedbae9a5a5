package structural

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

// compiled holds the schema of a version in the forms that the libraries need. All fields are nil for a
// version without a schema, and structural is nil for a schema that is not structural, which only a v1beta1
// definition may have.
type compiled struct {
	structural *schema.Structural
	whole      *validator
	// status validates only the status, for writes through the status subresource.
	status *validator
	rules  *rules
	// embeds, lists and defaults are the parts of structural on the paths to embedded objects, to lists that
	// are sets or maps, and to defaults; nil if there are none. With them, the libraries skip the parts of an
	// object that they need not visit.
	embeds, lists, defaults *schema.Structural
}

// compile compiles the schema of what, the name for error messages. It runs once, for the first object of the
// version.
func (v *versionSchema) compile(what string, preserve bool) (*compiled, error) {
	props, err := v.props()
	if err != nil {
		return nil, fmt.Errorf("the schema of %s cannot be read: %w", what, err)
	}
	if props == nil {
		return &compiled{}, nil
	}
	c := &compiled{}
	if c.structural, err = structuralSchema(props, preserve); err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", what, err)
	}
	if c.whole, err = newValidator(props, v.props); err != nil {
		return nil, fmt.Errorf("the schema of %s cannot be compiled for validation: %w", what, err)
	}
	if status, ok := props.Properties["status"]; ok {
		if c.status, err = newValidator(&status, v.statusProps); err != nil {
			return nil, fmt.Errorf("the schema of the status of %s cannot be compiled for validation: %w", what, err)
		}
	}
	c.rules = rulesOf(c.structural)
	c.embeds = subschemaTo(c.structural, func(s *schema.Structural) bool { return s.XEmbeddedResource })
	c.lists = subschemaTo(c.structural, func(s *schema.Structural) bool { return s.XListType != nil })
	c.defaults = subschemaTo(c.structural, func(s *schema.Structural) bool { return s.Default.Object != nil })
	return c, nil
}

// props returns the schema in the libraries' form, newly decoded, or nil if the version has none.
func (v *versionSchema) props() (*apiextensions.JSONSchemaProps, error) { return readProps(v.raw) }

func readProps(raw []byte) (*apiextensions.JSONSchemaProps, error) {
	if raw == nil {
		return nil, nil
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(raw, &props); err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	return internal, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal, nil)
}

// statusProps returns the part of the schema that describes the status.
func (v *versionSchema) statusProps() (*apiextensions.JSONSchemaProps, error) {
	props, err := v.props()
	if props == nil || err != nil {
		return nil, err
	}
	status := props.Properties["status"]
	return &status, nil
}

// structuralSchema converts the schema to a structural schema. It prunes the defaults, so that a defaulted object
// satisfies the schema as a decoded one does.
func structuralSchema(props *apiextensions.JSONSchemaProps, preserve bool) (*schema.Structural, error) {
	s, err := schema.NewStructural(props)
	if preserve {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s = s.DeepCopy()
	return s, defaulting.PruneDefaults(s)
}

// subschemaTo returns the part of a schema on the paths to the subschemas that match to, including these in full,
// or nil if none match.
func subschemaTo(s *schema.Structural, to func(*schema.Structural) bool) *schema.Structural {
	if s == nil || to(s) {
		return s
	}
	part, found := &schema.Structural{}, false
	if part.Items = subschemaTo(s.Items, to); part.Items != nil {
		found = true
	}
	if a := s.AdditionalProperties; a != nil {
		if others := subschemaTo(a.Structural, to); others != nil {
			part.AdditionalProperties, found = &schema.StructuralOrBool{Structural: others}, true
		}
	}
	for name, property := range s.Properties {
		if leads := subschemaTo(&property, to); leads != nil {
			if part.Properties == nil {
				part.Properties = map[string]schema.Structural{}
			}
			part.Properties[name], found = *leads, true
		}
	}
	if !found {
		return nil
	}
	return part
}
