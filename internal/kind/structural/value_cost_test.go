package structural

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCostlyValuesAreNotChecked checks that values are not checked against a schema if that could take seconds.
func TestCostlyValuesAreNotChecked(t *testing.T) {
	t.Parallel()
	var values, patterns []string
	for i := range 1_000 {
		values = append(values, fmt.Sprintf(`"v%d"`, i))
		patterns = append(patterns, fmt.Sprintf(`{"pattern": "v%d"}`, i))
	}
	k := newKind(t, `{
	  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "disks.example.com"},
	  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Disk", "plural": "disks"},
	    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
	      "labels": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]([-a-z]{0,61}[a-z])?$"}},
	      "enum": {"type": "array", "items": {"type": "string", "enum": [`+strings.Join(values, ",")+`]}},
	      "any": {"type": "array", "items": {"type": "string", "anyOf": [`+strings.Join(patterns, ",")+`]}},
	      "map": {"type": "object", "additionalProperties": {"type": "string", "allOf": [{"pattern": "^(.*a){500}$"}]}}}}}}]}}`)
	const costly = "would take more than"
	long := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct {
		field string
		value any
		want  string
	}{
		"labels":               {"labels", []any{"a", "a-b"}, ""},
		"a wrong label":        {"labels", []any{"-"}, "should match"},
		"a long text":          {"labels", []any{long}, costly},
		"a short value":        {"map", map[string]any{"k": strings.Repeat("a", 500)}, ""},
		"a long value":         {"map", map[string]any{"k": long}, costly},
		"an enum":              {"enum", slices.Repeat([]any{"v999"}, 1_000), ""},
		"a wrong enum":         {"enum", []any{"v"}, "Unsupported value"},
		"many of an enum":      {"enum", slices.Repeat([]any{"v999"}, 90_000), costly},
		"alternatives":         {"any", []any{"v999"}, ""},
		"none":                 {"any", []any{"v"}, "should match"},
		"many of alternatives": {"any", slices.Repeat([]any{"v999"}, 30_000), costly},
		"another length":       {"map", map[string]any{"k": "b"}, "should match"},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Disk",
			"metadata": map[string]any{"name": "a"}, c.field: c.value}}
		errs := k.Validate(context.Background(), u, nil, "")
		if (len(errs) == 0) != (c.want == "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), c.want) {
			t.Errorf("%s: got errors %.300v, want %q", name, errs, c.want)
		}
	}
}
