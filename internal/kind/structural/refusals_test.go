package structural

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRulesRejectHugeQuantities checks that quantities with a huge exponent are rejected before rules run:
// the library would expand them to a thousand million digits, uninterruptibly.
func TestRulesRejectHugeQuantities(t *testing.T) {
	t.Parallel()
	k := newKind(t, `{
	  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "disks.example.com"},
	  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Disk", "plural": "disks"},
	    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"sizes": {
	      "type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 999,
	        "x-kubernetes-validations": [{"rule": "isQuantity(self) && quantity(self).isGreaterThan(quantity('1'))"}]}}}}}}]}}`)
	const digest = "sha256:aaaa6e12345" // ends like a quantity
	for size, want := range map[string]string{
		"1Gi": "", "1e20": "", "1": "failed rule", digest: "failed rule", "1e999999999": "sizes[1]: Invalid value",
		"1e-999999999":           "sizes[1]: Invalid value",
		strings.Repeat("1", 999): "sizes[1]: Invalid value",
	} {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Disk", "metadata": map[string]any{"name": "a"},
			"sizes": []any{"2", size},
		}}
		errs := k.Validate(context.Background(), u, nil, "")
		if (len(errs) == 0) != (want == "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("size %.20s: errors %v, want %q", size, errs, want)
		}
	}
}

// A huge quantity that a rule makes of parts, or that only a message or an allOf parses, is rejected too. Parts that
// make an ordinary quantity are not.
func TestRulesRejectComposedQuantities(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"of parts": `"x-kubernetes-validations": [{"rule": "quantity('1e'+self).isGreaterThan(quantity('1'))"}]`,
		"in a message": `"x-kubernetes-validations": [{"rule": "self == '2'",
		  "messageExpression": "string(quantity('1e'+self).isInteger())"}]`,
		"in allOf": `"x-kubernetes-validations": [{"rule": "true"}], "allOf": [{"x-kubernetes-validations": [{"rule": "quantity('1e'+self).isGreaterThan(quantity('1'))"}]}]`,
		"with optional oldSelf": `"x-kubernetes-validations": [{"optionalOldSelf": true,
		  "rule": "oldSelf.hasValue() || quantity('1e'+self).isGreaterThan(quantity('1'))"}]`,
	} {
		k := newKind(t, `{
		  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "disks.example.com"},
		  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Disk", "plural": "disks"},
		    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
		      "properties": {"size": {"type": "string", "maxLength": 9, `+schema+`}}}}}]}}`)
		for size, want := range map[string]string{"2": "", "999999999": `size: Invalid value: "string": the quantity "1e999999999" has too many digits`} {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Disk",
				"metadata": map[string]any{"name": "a"}, "size": size}}
			errs := k.Validate(context.Background(), u, nil, "")
			if (len(errs) == 0) != (want == "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), want) {
				t.Errorf("%s, size %s: errors %v, want %q", name, size, errs, want)
			}
		}
	}
}
