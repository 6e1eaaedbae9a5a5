package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// toV2 converts schemas to OpenAPI v2.
func (d *definitions) toV2(schemas map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	var other map[string]json.RawMessage
	if err := d.builtin.read("v2", &other); err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(schemas))
	for name, raw := range schemas {
		if raw, ok := other[name]; ok {
			out[name] = raw
			continue
		}
		var s map[string]any
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("OpenAPI definition %s: %w", name, err)
		}
		if err := schemaToV2(s); err != nil {
			return nil, fmt.Errorf("OpenAPI definition %s: %w", name, err)
		}
		var err error
		if out[name], err = json.Marshal(s); err != nil {
			return nil, fmt.Errorf("OpenAPI definition %s: %w", name, err)
		}
	}
	return out, nil
}

// schemaToV2 removes from a schema what OpenAPI v2 cannot express, and the defaults, which clients of v2 do
// not expect. A reference with a description, which v3 wraps in an allOf, is unwrapped.
func schemaToV2(s map[string]any) error {
	if ref := wrappedReference(s); ref != "" {
		s["$ref"] = ref
	}
	if ref, ok := s["$ref"].(string); ok {
		s["$ref"] = refPrefixV2 + strings.TrimPrefix(ref, refPrefix)
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf", "not", "nullable", "default"} {
		delete(s, word)
	}
	return eachSubschema(s, schemaToV2)
}

// wrappedReference returns the reference of an allOf that contains nothing else.
func wrappedReference(s map[string]any) string {
	all, _ := s["allOf"].([]any)
	if len(all) != 1 {
		return ""
	}
	one, _ := all[0].(map[string]any)
	ref, _ := one["$ref"].(string)
	return ref
}
