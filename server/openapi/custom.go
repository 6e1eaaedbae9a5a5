package openapi

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// Schematic is implemented by kinds that bring their own schema, those of custom resources.
type Schematic interface {
	// Schema describes the kind's objects in a version; nil when the version has no schema and takes any field. The
	// caller must not change it.
	Schema(version string) *apiextensionsv1.JSONSchemaProps
}

// name finds the definition of a kind in an endpoint's version, and adds it when it has none yet.
func (d *definitions) name(e kind.Entry) (string, error) {
	gvk := e.Endpoint.GroupVersion().WithKind(e.Kind.Info().Kind)
	if name, ok := d.names[gvk]; ok {
		return name, nil
	}
	var err error
	if own, ok := e.Kind.(Schematic); ok {
		err = d.addCustom(gvk, own.Schema(gvk.Version))
	} else {
		err = d.addAlias(gvk, e.Kind.Info().Endpoints[0].GroupVersion().WithKind(gvk.Kind))
	}
	return d.names[gvk], err
}

// addAlias describes a kind that is served in another version by the Go struct of its hub.
func (d *definitions) addAlias(gvk, hub schema.GroupVersionKind) error {
	raw, ok := d.schemas[d.names[hub]]
	if !ok {
		return d.addCustom(gvk, nil)
	}
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("OpenAPI definition of %s: %w", hub, err)
	}
	return d.add(customName(gvk), gvk, s)
}

// addCustom turns the schema of a custom resource into a definition. What the two have in common, which is nearly all,
// they write alike.
func (d *definitions) addCustom(gvk schema.GroupVersionKind, own *apiextensionsv1.JSONSchemaProps) error {
	s := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	if own != nil {
		raw, err := json.Marshal(own)
		if err != nil {
			return fmt.Errorf("schema of %s: %w", gvk, err)
		}
		clear(s)
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("schema of %s: %w", gvk, err)
		}
		if err := d.describeEmbedded(s); err != nil {
			return err
		}
	}
	if err := d.describeObject(s, anyObjectName); err != nil {
		return err
	}
	return d.add(customName(gvk), gvk, s)
}

// listName finds the definition of a kind's list, and adds it when it has none yet.
func (d *definitions) listName(e kind.Entry, item string) (string, error) {
	gvk := e.Endpoint.GroupVersion().WithKind(e.Kind.Info().ListKind())
	if name, ok := d.names[gvk]; ok {
		return name, nil
	}
	s := map[string]any{
		"description": gvk.Kind + " is a list of " + e.Kind.Info().Kind,
		"required":    []string{"items"},
		"properties": map[string]any{
			"items": map[string]any{"type": "array", "items": map[string]any{"$ref": refPrefix + item}},
		},
	}
	if err := d.describeObject(s, anyListName); err != nil {
		return "", err
	}
	return customName(gvk), d.add(customName(gvk), gvk, s)
}

// describeObject gives a schema the fields that every object has, or every list, as meta/v1 describes them.
func (d *definitions) describeObject(s map[string]any, like string) error {
	var common struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(d.schemas[like], &common); err != nil {
		return fmt.Errorf("OpenAPI definition %s: %w", like, err)
	}
	properties, _ := s["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		properties[field] = common.Properties[field]
	}
	s["type"] = "object"
	s["properties"] = properties
	return nil
}

// describeEmbedded does the same for the whole objects that a schema has inside it.
func (d *definitions) describeEmbedded(value any) error {
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			if err := d.describeEmbedded(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, x := range v {
			if err := d.describeEmbedded(x); err != nil {
				return err
			}
		}
		if v["x-kubernetes-embedded-resource"] == true {
			return d.describeObject(v, anyObjectName)
		}
	}
	return nil
}
