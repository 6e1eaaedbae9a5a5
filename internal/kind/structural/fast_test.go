package structural

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"
)

func validatorOf(t testing.TB, schema string) *validator {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(schema), &props); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal,
		nil); err != nil {
		t.Fatal(err)
	}
	v, err := newValidator(internal, func() (*apiextensions.JSONSchemaProps, error) { return internal, nil })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// schemas cover each keyword; the values below satisfy and violate them.
var schemas = []string{
	`{}`, `{"type":"string"}`, `{"type":"string","nullable":true}`, `{"type":"integer"}`, `{"type":"number"}`,
	`{"type":"boolean"}`, `{"type":"array"}`, `{"type":"object"}`,
	`{"type":"string","minLength":2,"maxLength":3}`, `{"type":"string","pattern":"^b+$"}`, `{"pattern":"^b+$"}`,
	`{"type":"string","pattern":"("}`, `{"type":"string","enum":["a","bb"]}`,
	`{"type":"string","enum":["a","bb"],"nullable":true}`, `{"enum":["a",1,null]}`, `{"type":"integer","enum":[1,2]}`,
	`{"type":"string","format":"ipv4"}`, `{"type":"string","format":"date-time"}`,
	`{"type":"string","format":"colour"}`, `{"format":"ipv4"}`, `{"format":"int32"}`,
	`{"type":"object","format":"ipv4"}`, `{"type":"array","format":"ipv4"}`,
	`{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int64"}`, `{"type":"number","format":"double"}`,
	`{"type":"number","format":"float"}`, `{"type":"number","format":"int32"}`,
	`{"type":"integer","minimum":1,"maximum":2}`,
	`{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true}`,
	`{"type":"integer","minimum":0.5}`, `{"type":"integer","format":"int32","maximum":3000000000}`,
	`{"type":"number","minimum":1,"maximum":2}`, `{"type":"number","minimum":0.5}`, `{"minimum":1}`,
	`{"type":"integer","multipleOf":2}`,
	`{"type":"array","items":{"type":"integer"}}`,
	`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","nullable":true}}`,
	`{"type":"array","uniqueItems":true}`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`,
	`{"type":"object","minProperties":1,"maxProperties":1}`,
	`{"type":"object","additionalProperties":{"type":"integer"}}`,
	`{"type":"object","additionalProperties":false,"properties":{"a":{}}}`,
	`{"type":"object","additionalProperties":true,"properties":{"a":{"type":"string"}}}`,
	`{"allOf":[{"type":"string"},{"maxLength":1}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
	`{"x-kubernetes-int-or-string":true}`, `{"oneOf":[{"type":"string"},{"type":"integer"}]}`,
	`{"not":{"type":"string"}}`,
	`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`,
}

var values = []string{
	`null`, `true`, `"a"`, `"bb"`, `"bbbb"`, `"äöü"`, `""`, `"10.0.0.1"`, `"2026-01-02T03:04:05Z"`, `0`, `1`, `2`, `3`,
	`-1`, `1.5`, `1.0`, `2e9`, `3000000000`, `-9223372036854775808`, `1e300`,
	`[]`, `[1]`, `[1,1]`, `["a",null]`, `[1,2,3]`, `[1.5]`, `{}`, `{"a":"x"}`, `{"a":1}`, `{"b":1}`, `{"a":"x","b":1}`,
	`{"a":"x","b":"x","c":null}`, `{"c":2}`, `{"a":null}`,
}

// TestFastValidatorAcceptsOnlyValid checks that the library accepts every value that the fast validator accepts,
// alone and nested in others.
func TestFastValidatorAcceptsOnlyValid(t *testing.T) {
	t.Parallel()
	accepted := 0
	check := func(schema, value string) {
		v := validatorOf(t, schema)
		var decoded any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(value), &decoded); err != nil {
			t.Fatal(err)
		}
		if v.fast.valid(decoded) {
			accepted++
			library, err := v.library()
			if err != nil {
				t.Fatal(err)
			}
			if r := library.Validate(decoded); !r.IsValid() {
				t.Errorf("schema %s: %s is accepted, but the library finds %v", schema, value, r.Errors)
			}
		}
	}
	for _, schema := range schemas {
		for _, value := range values {
			check(schema, value)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of []string) string { return of[random.IntN(len(of))] }
	for range 2000 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":{"type":"array","items":%s}},"additionalProperties":%s,"allOf":[{"properties":{"a":%s}}]}`, one(schemas), one(schemas), one(schemas), one(schemas))
		check(schema, fmt.Sprintf(`{"a":%s,"b":[%s,%s],"c":%s}`, one(values), one(values), one(values), one(values)))
	}
	if accepted < 200 {
		t.Errorf("the fast validator accepted %d values, want at least 200", accepted)
	}
}

// TestFastValidatorAcceptsTypicalObject checks that the fast validator accepts a typical valid object.
func TestFastValidatorAcceptsTypicalObject(t *testing.T) {
	t.Parallel()
	schema, err := json.Marshal(parseDefinition(t, wideDefinition()).Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	obj := decode(t, newKind(t, wideDefinition()), string(wideObject()))
	if !validatorOf(t, string(schema)).fast.valid(obj.Object) {
		t.Error("the fast validator left a valid object of 40 fields to the library")
	}
}
