package apiextensions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// definitionWith returns a definition whose schemas have these members.
func definitionWith(t *testing.T, schemas ...string) *definition {
	t.Helper()
	d := &definition{}
	for _, text := range schemas {
		props := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte("{"+text+"}"), props); err != nil {
			t.Fatal(err)
		}
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}})
	}
	return d
}

// rules returns n rules.
func rules(n int, expression string) string {
	rule := fmt.Sprintf(`{"rule":%q}`, expression)
	return `"x-kubernetes-validations":[` + strings.TrimSuffix(strings.Repeat(rule+",", n), ",") + `]`
}

// TestCostlySchemas checks the limits of what the schemas of a definition cost to compile. An update may keep what an
// older server accepted, and may not add to it.
func TestCostlySchemas(t *testing.T) {
	t.Parallel()
	in := func(members string) string { return `"properties":{"a":{"items":{"allOf":[{` + members + `}]}}}` }
	pattern := func(text string) string { return fmt.Sprintf(`"pattern":%q`, text) }
	many := definitionWith(t, rules(600, "true"))
	for name, c := range map[string]struct {
		now, old *definition
		want     string
	}{
		"500 rules":               {definitionWith(t, rules(500, "true")), nil, ""},
		"501 rules, deep":         {definitionWith(t, in(rules(501, "true"))), nil, "have 501 CEL rules in all"},
		"501 in two versions":     {definitionWith(t, rules(250, "true"), rules(251, "true")), nil, "have 501 CEL rules in all"},
		"as many as before":       {many, many, ""},
		"more than before":        {definitionWith(t, rules(601, "true")), many, "at most 600 are allowed"},
		"a long rule":             {definitionWith(t, rules(1, strings.Repeat("x", 10_001))), nil, "too long to compile"},
		"types that double":       {definitionWith(t, rules(1, "[{1: 1}]"+strings.Repeat(".map(a, {a: a})", 9))), nil, "types too large"},
		"rules of 400 characters": {definitionWith(t, rules(500, strings.Repeat("x", 400))), nil, ""},
		"a pattern":               {definitionWith(t, pattern("x{1000}")), nil, ""},
		"a large pattern":         {definitionWith(t, in(pattern(strings.Repeat("x{1000}", 501)))), nil, "instructions in all"},
		"a long pattern":          {definitionWith(t, pattern(strings.Repeat("x", 17<<10))), nil, "instructions in all"},
		"classes":                 {definitionWith(t, pattern(strings.Repeat(`\pL`, 500))), nil, "instructions in all"},
		"patterns of rules":       {definitionWith(t, rules(501, "self.a.matches('x{2,1000}')")), nil, "instructions in all"},
	} {
		errs := costlySchemas(c.now, c.old)
		if (len(errs) == 0) != (c.want == "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), c.want) {
			t.Errorf("%s: got errors %v, want %q", name, errs, c.want)
		}
	}
}
