package structural

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

// compiled is the schema of a version in the forms that the libraries work with. All are nil for a version without a
// schema, and structural is nil for a schema that is not structural, which only a v1beta1 definition may have.
type compiled struct {
	structural *schema.Structural
	whole      *validator
	// status checks the status alone, for writes through the status subresource.
	status *validator
	rules  *rules
	// embeds, lists and defaults are the parts of structural that lead to embedded objects, to lists that are sets or maps,
	// and to defaults; nil when there are none. The libraries need not walk through what has nothing for them.
	embeds, lists, defaults *schema.Structural
}

// compile makes the compiled form of a schema, what says whose. It runs once, when the first object of the version comes.
func (v *versionSchema) compile(what string, preserve bool) (*compiled, error) {
	props, err := v.props()
	if err != nil {
		return nil, fmt.Errorf("the schema of %s cannot be read: %w", what, err)
	}
	if props == nil {
		return &compiled{}, nil
	}
	c := &compiled{}
	if c.structural, err = structure(props, preserve); err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", what, err)
	}
	if c.whole, err = newValidator(props, v.props); err != nil {
		return nil, fmt.Errorf("the schema of %s cannot validate: %w", what, err)
	}
	if status, ok := props.Properties["status"]; ok {
		if c.status, err = newValidator(&status, v.statusProps); err != nil {
			return nil, fmt.Errorf("the schema of the status of %s cannot validate: %w", what, err)
		}
	}
	c.rules = rulesOf(c.structural)
	c.embeds = leading(c.structural, func(s *schema.Structural) bool { return s.XEmbeddedResource })
	c.lists = leading(c.structural, func(s *schema.Structural) bool { return s.XListType != nil })
	c.defaults = leading(c.structural, func(s *schema.Structural) bool { return s.Default.Object != nil })
	return c, nil
}

// props is the schema of the version in the form that the libraries take, read afresh; nil when it has none.
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

// statusProps is the part of it that describes the status.
func (v *versionSchema) statusProps() (*apiextensions.JSONSchemaProps, error) {
	props, err := v.props()
	if props == nil || err != nil {
		return nil, err
	}
	status := props.Properties["status"]
	return &status, nil
}

// structure makes the structural schema. Its defaults lose what the schema would prune, so that a defaulted object is
// as one that was sent.
func structure(props *apiextensions.JSONSchemaProps, preserve bool) (*schema.Structural, error) {
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

// leading is the part of a schema that leads to the places that it is about, which it has whole; nil when there are none.
func leading(s *schema.Structural, to func(*schema.Structural) bool) *schema.Structural {
	if s == nil || to(s) {
		return s
	}
	part, found := &schema.Structural{}, false
	if part.Items = leading(s.Items, to); part.Items != nil {
		found = true
	}
	if a := s.AdditionalProperties; a != nil {
		if others := leading(a.Structural, to); others != nil {
			part.AdditionalProperties, found = &schema.StructuralOrBool{Structural: others}, true
		}
	}
	for name, property := range s.Properties {
		if leads := leading(&property, to); leads != nil {
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
