package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
)

// name returns the name of a kind's definition in an endpoint's version. It adds the definition on first use.
func (d *definitions) name(e kind.Entry) (string, error) {
	gvk := e.Endpoint.GroupVersion().WithKind(e.Kind.Info().Kind)
	own, custom := e.Kind.(kind.Custom)
	if custom {
		return customName(gvk), d.addCustom(gvk, own, e.Endpoint)
	}
	if name := d.known(gvk); name != "" {
		return name, nil
	}
	return customName(gvk), d.addAlias(gvk, e.Kind.Info().Endpoints[0].GroupVersion().WithKind(gvk.Kind))
}

// addAlias describes a kind in another version with the Go struct of its hub.
func (d *definitions) addAlias(gvk, hub schema.GroupVersionKind) error {
	raw, err := d.find(d.known(hub))
	if err != nil {
		return err
	}
	s := map[string]any{"type": "object"}
	if raw != nil {
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("OpenAPI definition of %s: %w", hub, err)
		}
	}
	return d.add(customName(gvk), gvk, s)
}

// addCustom converts the schema of a custom resource to a definition. If objects may have fields without a
// schema, it lists no fields, since clients would reject the others.
func (d *definitions) addCustom(gvk schema.GroupVersionKind, own kind.Custom, e *kind.Endpoint) error {
	s, err := d.customSchema(own, gvk.Version)
	if err != nil {
		return fmt.Errorf("OpenAPI definition of %s: %w", gvk, err)
	}
	if s == nil {
		s = map[string]any{"type": "object"}
	} else if err := d.describeObject(s, anyObjectName); err != nil {
		return err
	}
	nameSelectable(s, e)
	return d.add(customName(gvk), gvk, s)
}

// nameSelectable lists the selectable fields of a custom resource in its schema and that of its list.
func nameSelectable(s map[string]any, e *kind.Endpoint) {
	var fields []map[string]string
	for _, path := range slices.Sorted(maps.Keys(e.Selectable)) {
		fields = append(fields, map[string]string{"fieldPath": path})
	}
	if fields != nil {
		s["x-kubernetes-selectable-fields"] = fields
	}
}

// customSchema returns the schema of a custom resource for a document, without the fields that all objects
// have. It returns nil if the resource has no schema, or one that clients cannot validate objects with.
func (d *definitions) customSchema(own kind.Custom, version string) (map[string]any, error) {
	raw := own.RawSchema(version)
	if raw == nil || d.v2 && own.PreservesUnknownFields() {
		return nil, nil
	}
	if !d.v2 && !own.PreservesUnknownFields() { // it is structural, and v3 can express all of it
		var s map[string]any
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		unfold(s)
		return s, d.describeEmbedded(s)
	}
	model, err := structural.ReadSchema(raw)
	if err != nil || model == nil || d.v2 && model.XPreserveUnknownFields {
		return nil, err
	}
	model = model.Unfold()
	if d.v2 {
		model = openapiv2.ToStructuralOpenAPIV2(model)
	}
	text, err := json.Marshal(model.ToKubeOpenAPI())
	if err != nil {
		return nil, err
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s, d.describeEmbedded(s)
}

// unfold describes an int-or-string field for clients that do not know the extension. It has the effect of
// Structural.Unfold, without making a Structural.
func unfold(s map[string]any) {
	_ = eachSubschema(s, func(sub map[string]any) error { unfold(sub); return nil })
	if s["x-kubernetes-int-or-string"] != true {
		return
	}
	either := []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
	all, _ := s["allOf"].([]any)
	if len(all) > 0 {
		if first, _ := all[0].(map[string]any); reflect.DeepEqual(first["anyOf"], any(either)) {
			return
		}
	}
	switch {
	case s["anyOf"] == nil:
		s["anyOf"] = either
	case !reflect.DeepEqual(s["anyOf"], any(either)):
		s["allOf"] = append([]any{map[string]any{"anyOf": either}}, all...)
	}
}

// listName returns the name of the definition of a kind's list. It adds the definition on first use.
func (d *definitions) listName(e kind.Entry, item string) (string, error) {
	info := e.Kind.Info()
	gvk := e.Endpoint.GroupVersion().WithKind(info.ListKind())
	if name := d.known(gvk); name != "" {
		return name, nil
	}
	s := map[string]any{
		"description": gvk.Kind + " is a list of " + info.Kind,
		"required":    []string{"items"},
		"type":        "object",
		"properties": map[string]any{
			"items": map[string]any{
				"description": "The " + info.Plural + ".",
				"type":        "array", "items": map[string]any{"$ref": refPrefix + item},
			},
		},
	}
	if err := d.describeObject(s, anyListName); err != nil {
		return "", err
	}
	if !e.Kind.Info().Builtin {
		nameSelectable(s, e.Endpoint)
	}
	return customName(gvk), d.add(customName(gvk), gvk, s)
}

// describeObject adds the fields that every object, or every list, has, as meta/v1 describes them.
func (d *definitions) describeObject(s map[string]any, like string) error {
	raw, err := d.find(like)
	if err != nil {
		return err
	}
	var common struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &common); err != nil {
		return fmt.Errorf("OpenAPI definition %s: %w", like, err)
	}
	properties, _ := s["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		s["properties"] = properties
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(common.Properties[field], "default") // the default is that of the Go struct
		properties[field] = common.Properties[field]
	}
	return nil
}

// describeEmbedded adds apiVersion, kind and metadata to each embedded object (x-kubernetes-embedded-resource) in a
// schema. In OpenAPI v2, where listed fields
// exclude all others, schemas that allow any field are not changed.
func (d *definitions) describeEmbedded(s map[string]any) error {
	err := eachSubschema(s, d.describeEmbedded)
	if err != nil || s["x-kubernetes-embedded-resource"] != true || d.v2 &&
		s["x-kubernetes-preserve-unknown-fields"] == true {
		return err
	}
	required, _ := s["required"].([]any)
	for _, field := range []any{"kind", "apiVersion"} {
		if !slices.Contains(required, field) {
			required = append(required, field)
		}
	}
	s["required"] = required
	return d.describeObject(s, anyObjectName)
}

// eachSubschema calls f for the schemas of the fields and items of a schema.
func eachSubschema(s map[string]any, f func(map[string]any) error) error {
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		if p, ok := p.(map[string]any); ok {
			if err := f(p); err != nil {
				return err
			}
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if p, ok := s[part].(map[string]any); ok {
			if err := f(p); err != nil {
				return err
			}
		}
	}
	return nil
}
