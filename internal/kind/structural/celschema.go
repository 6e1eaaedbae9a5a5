package structural

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// celSchema is a schema in the form in which CEL rules access it. Its parts are created once: the library's
// own adapter creates them for every field that a rule reads, which took half of the time of rules.
type celSchema struct {
	*model.Structural
	items      common.Schema
	properties map[string]common.Schema
	others     common.SchemaOrBool
	// whole is the schema with kind, apiVersion and metadata, for the root and for embedded objects.
	whole *celSchema
}

// newCELSchema converts a schema. If root is set, the object has kind, apiVersion and metadata.
func newCELSchema(s *schema.Structural, root bool) *celSchema {
	if root {
		s = model.WithTypeAndObjectMeta(s)
	}
	c := &celSchema{Structural: &model.Structural{Structural: s}}
	if s.Items != nil {
		c.items = newCELSchema(s.Items, false)
	}
	if s.Properties != nil {
		c.properties = make(map[string]common.Schema, len(s.Properties))
	}
	for name, part := range s.Properties {
		c.properties[name] = newCELSchema(&part, false)
	}
	if a := s.AdditionalProperties; a != nil {
		others := celSchemaOrBool{allows: a.Bool}
		if a.Structural != nil {
			others.schema = newCELSchema(a.Structural, false)
		}
		c.others = others
	}
	switch {
	case root:
		c.whole = c
	case s.XEmbeddedResource:
		c.whole = newCELSchema(s, true)
	}
	return c
}

// Items implements common.Schema, like the methods below.
func (c *celSchema) Items() common.Schema { return c.items }

func (c *celSchema) Properties() map[string]common.Schema { return c.properties }

func (c *celSchema) AdditionalProperties() common.SchemaOrBool { return c.others }

func (c *celSchema) WithTypeAndObjectMeta() common.Schema {
	if c.whole == nil {
		return c.Structural.WithTypeAndObjectMeta()
	}
	return c.whole
}

// celSchemaOrBool is the value of additionalProperties.
type celSchemaOrBool struct {
	schema common.Schema
	allows bool
}

// Schema implements common.SchemaOrBool.
func (s celSchemaOrBool) Schema() common.Schema { return s.schema }

// Allows implements common.SchemaOrBool.
func (s celSchemaOrBool) Allows() bool { return s.allows }
