package structural

import (
	"encoding/json"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"
)

// ruleSchema is a schema with rules on all kinds of nodes.
const ruleSchema = `{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name != 'bad'"},{"rule":"self.kind == 'Widget'"}],"properties":{
  "list":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"},{"rule":"self >= oldSelf"}]}},
  "byName":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
    "properties":{"name":{"type":"string"},"n":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"!has(self.n) || !has(oldSelf.n) || self.n >= oldSelf.n"}]}},
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"oldSelf.all(s, s in self)"}]},
  "map":{"type":"object","additionalProperties":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"},{"rule":"self == oldSelf"}]}},
  "atomic":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}},
  "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object","properties":{"n":{"type":"integer"}}}},
    "x-kubernetes-validations":[{"rule":"self.apiVersion == 'v1'"},{"rule":"self.metadata.name == oldSelf.metadata.name"}]},
  "from-to":{"type":"string","format":"date-time","x-kubernetes-validations":[{"rule":"self > timestamp('2020-01-01T00:00:00Z')"}]},
  "maybe":{"type":"string","nullable":true,"x-kubernetes-validations":[{"rule":"self.size() > 1"}]},
  "both":{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"type(self) == int ? self > 0 : self != ''"}]},
  "all":{"type":"string","allOf":[{"maxLength":9}],"x-kubernetes-validations":[{"rule":"self != 'a'"}]},
  "deep":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer","x-kubernetes-validations":[{"rule":"self != 7"}]}}}}}}}`

func structuralOf(t testing.TB, text string) *schema.Structural {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(text), &props); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal,
		nil); err != nil {
		t.Fatal(err)
	}
	s, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRuleTreeMatchesLibrary checks each value, as a new one and as a replacement of each other value.
func TestRuleTreeMatchesLibrary(t *testing.T) {
	t.Parallel()
	parts := []string{
		``, `"list":[1,2]`, `"list":[2,1]`, `"list":[0]`, `"byName":[{"name":"a","n":1},{"name":"b"}]`,
		`"byName":[{"name":"b","n":2},{"name":"a","n":0}]`, `"set":["a"]`, `"set":["a","b"]`,
		`"map":{"a":"x"}`, `"map":{"a":"y","b":"x"}`, `"map":{"a":""}`, `"atomic":{"a":1}`, `"atomic":{"a":0}`,
		`"from-to":"2026-01-01T00:00:00Z"`, `"from-to":"2016-01-01T00:00:00Z"`, `"from-to":"soon"`,
		`"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"n":1}}`,
		`"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`,
		`"template":{"apiVersion":"v2","kind":"Pod"}`,
		`"maybe":null`, `"maybe":"x"`, `"maybe":"xx"`, `"both":1`, `"both":0`, `"both":"x"`, `"both":""`, `"both":1.5`,
		`"all":"a"`, `"all":"b"`, `"deep":{"a":{"b":6}}`, `"deep":{"a":{"b":7}}`, `"deep":{"a":null}`, `"unknown":1`,
	}
	s := structuralOf(t, ruleSchema)
	r := rulesOf(s)
	if r.tree().unsupported {
		t.Fatal("the rule tree reports unsupported features")
	}
	held := 0
	compare := func(value, old map[string]any) {
		e := newEvaluation(t.Context())
		defer e.meter.Close()
		var was any
		if old != nil {
			was = old
		}
		if err := e.run(r.tree(), value, was); err != nil {
			t.Errorf("%v after %v: %v", value, old, err)
		}
		errs, left := r.library().Validate(t.Context(), nil, nil, value, was, celconfig.RuntimeCELCostBudget)
		holds := !e.failed
		if holds != (len(errs) == 0) || holds && e.budget != uint64(left) {
			t.Errorf("%v after %v: the rules hold: %t, budget left %d; by the library: errors %v, budget left %d",
				value, old, holds, e.budget, errs, left)
		}
		if holds {
			held++
		}
	}
	read := func(part string) map[string]any {
		text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}`
		if part != "" {
			text += "," + part
		}
		var value map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text+"}"), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, part := range parts {
		compare(read(part), nil)
		for _, old := range parts {
			compare(read(part), read(old))
		}
	}
	if held < len(parts)*len(parts)/2 {
		t.Errorf("the rules held for only %d changes, want at least half of them", held)
	}
}

// TestRuleTreeReportsUnsupportedFeatures checks that the library handles schemas with features that the tree does not
// support.
func TestRuleTreeReportsUnsupportedFeatures(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"optionalOldSelf":      `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"oldSelf.hasValue()","optionalOldSelf":true}]}}}}`,
		"rules in allOf":       `{"type":"object","x-kubernetes-validations":[{"rule":"true"}],"allOf":[{"x-kubernetes-validations":[{"rule":"true"}]}]}`,
		"rules that are wrong": `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 'a'"}]}}}`,
	} {
		if !newRuleTree(structuralOf(t, text), structuralOf(t, text), true).unsupported {
			t.Errorf("%s: not reported as unsupported", what)
		}
	}
	if rulesOf(structuralOf(t, `{"type":"object","properties":{"a":{"type":"integer"}}}`)) != nil {
		t.Error("a schema without rules has rules")
	}
}
