package structural

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/internal/object"
)

// specSchema returns a definition whose spec has a schema in JSON, or nil if that schema is not structural.
func specSchema(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var spec apiextensionsv1.JSONSchemaProps
	if json.Unmarshal([]byte(text), &spec) != nil {
		return nil
	}
	root := &apiextensionsv1.JSONSchemaProps{Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil
	}
	if s, err := ReadSchema(raw); s == nil || err != nil {
		return nil
	}
	crd := parseDefinition(t, gadget)
	crd.Spec.PreserveUnknownFields = false
	crd.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}
	return crd
}

// FuzzSchema makes a kind of any structural schema, and writes an object with any spec. The fast check accepts nothing
// that the library rejects. What is decoded is the same after it is encoded and decoded again.
func FuzzSchema(f *testing.F) {
	for i, schema := range schemas {
		f.Add(schema, values[i%len(values)])
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"array","default":[{}],"items":{"type":"object","properties":{"c":{"type":"integer","default":1}}}}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true}`,
		`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}`,
		`{"type":"object","nullable":true,"additionalProperties":{"type":"object","properties":{"n":{"type":"string","nullable":true,"default":null}}}}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"default":1}},"x-kubernetes-validations":[{"rule":"self.a == 1"}]}`,
		`{"type":"string","pattern":"(a+)+$","maxLength":10}`, `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`,
	} {
		f.Add(schema, `{"a":null,"b":[{"c":null,"d":1}],"n":{"n":null}}`)
		f.Add(schema, `[{"k":"a"},{"k":"a"}]`)
	}
	f.Fuzz(func(t *testing.T, schema, spec string) {
		crd := specSchema(t, schema)
		if crd == nil || len(schema) > 1_000 {
			return
		}
		k, err := New(object.NewCache(0), crd, nil)
		if err != nil {
			return
		}
		body := []byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a"},"spec":` + spec + `}`)
		obj, _, err := k.DecodeRequest(exampleV1, body, false)
		if err != nil {
			return
		}
		k.Prepare(obj, nil, "")
		k.Validate(t.Context(), obj, nil, "")
		first, err := k.Encode(exampleV1, obj)
		if err != nil {
			t.Fatalf("%s: %s is decoded, but cannot be encoded: %v", schema, spec, err)
		}
		again, strict, err := k.DecodeRequest(exampleV1, first, false)
		if err != nil || len(strict) > 0 {
			t.Fatalf("%s: %s is encoded as %s, which is rejected: %v, %q", schema, spec, first, err, strict)
		}
		if second, _ := k.Encode(exampleV1, again); string(second) != string(first) {
			t.Errorf("%s: %s is encoded as %s, and then as %s", schema, spec, first, second)
		}
		checkFast(t, k, schema, obj.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent())
		k.Validate(t.Context(), again, obj, "")
	})
}

// checkFast checks that the library accepts an object that the fast check accepts.
func checkFast(t *testing.T, k *Kind, schema string, content map[string]any) {
	t.Helper()
	c, err := k.version.compiled()
	if err != nil || c.whole == nil || !c.whole.fast.valid(content) {
		return
	}
	library, err := c.whole.library()
	if err != nil {
		t.Fatal(err)
	}
	if found := library.Validate(content); !found.IsValid() {
		t.Errorf("%s: %v is accepted, but the library finds %v", schema, content, found.Errors)
	}
}

// FuzzRules checks a value against a rule, as a new value and as the next one of another. It takes bounded time: the
// fuzzer fails for an input that takes ten seconds. Our tree of rules and the library agree;
// the tree charges at least what the library does.
func FuzzRules(f *testing.F) {
	for _, rule := range []string{
		"self.a > 1", "self.s.startsWith('a') || has(oldSelf.a)", "self.l.all(x, self.l.exists(y, x == y))",
		"self.s.matches('(a+)+$')", "quantity(self.s).isLessThan(quantity('1e9'))", "quantity('1e'+self.s).sign() > 0",
		"self.m.map(k, self.m[k]).sum() < 9", "cidr(self.s).containsIP('10.0.0.1')", "format.dns1123Label().validate(self.s)",
		"self == oldSelf", "timestamp(self.s) > timestamp('2020-01-01T00:00:00Z')", "semver(self.s).major() == 1",
		"'a'.replace('a', self.s + self.s).size() > 0", "optional.of(self.a).orValue(1) == 1", "self.l[self.a] == 1", "1/self.a == 1",
	} {
		f.Add(rule, `{"a":1,"s":"999999999","l":[1,2],"m":{"k":1}}`, `{"a":0,"s":"a"}`)
		f.Add(rule, `{}`, ``)
	}
	f.Fuzz(func(t *testing.T, rule, value, old string) {
		var now, was map[string]any
		if len(rule) > 300 || kjson.UnmarshalCaseSensitivePreserveInts([]byte(value), &now) != nil || now == nil {
			return
		}
		quoted, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		s := structuralOf(t, `{"type":"object","x-kubernetes-validations":[{"rule":`+string(quoted)+`}],"properties":{
			"a":{"type":"integer"},"s":{"type":"string","maxLength":64},"l":{"type":"array","maxItems":9,"items":{"type":"integer"}},
			"m":{"type":"object","maxProperties":9,"additionalProperties":{"type":"integer"}}}}`)
		var change any
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(old), &was) == nil && was != nil {
			change = was
		}
		r := rulesOf(s)
		if r == nil || r.tree().unsupported {
			return // only the library evaluates the rule
		}
		e := newEvaluation(t.Context())
		defer e.meter.Close()
		if e.run(r.tree(), now, change) != nil {
			return // the object is rejected
		}
		errs, left := r.library().Validate(t.Context(), nil, nil, now, change, celconfig.RuntimeCELCostBudget)
		if holds := !e.failed; holds != (len(errs) == 0) || holds && e.budget > uint64(left) {
			t.Errorf("%s for %s after %s: the rules hold: %t, budget left %d; by the library: errors %v, budget left %d", rule,
				value, old, holds, e.budget, errs, left)
		}
	})
}

// FuzzColumn shows a value of any object at any JSONPath, as each type of column and as a selectable field. A path of
// names only finds what the library finds.
func FuzzColumn(f *testing.F) {
	for _, path := range []string{".spec.size", "..a", ".a[*].b", ".a[?(@.b==\"c\")].d", ".a['b','c']", ".a[-1:]", "..", ".", "",
		".a[0:9999999999]", "{.a}", ".a[?(@.b>1)]", ".[*][*][*]", ".metadata.creationTimestamp", ".a[::-1]", "..a..b"} {
		f.Add(path, `{"spec":{"size":"x"},"a":[{"b":"c","d":[1,{"e":null}]},{"b":2.5}],"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}`)
	}
	f.Fuzz(func(t *testing.T, path, text string) {
		var content map[string]any
		if len(path) > 200 || kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &content) != nil {
			return
		}
		p, err := parsePath(path)
		if err != nil {
			return
		}
		now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, dataType := range []string{"string", "integer", "number", "boolean", "date", "other"} {
			if _, err := json.Marshal(cell{dataType, p}.show(content, now)); err != nil {
				t.Errorf("%s of %s as %s is not JSON: %v", path, text, dataType, err)
			}
		}
		if p.names == nil {
			return
		}
		library := jsonpath.New("path").AllowMissingKeys(true)
		if err := library.Parse("{" + path + "}"); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, found := p.find(content)
		results, err := library.FindResults(content)
		if err != nil || len(results) == 0 || len(results[0]) == 0 {
			if found {
				t.Errorf("%s of %s: got %v, and the library finds nothing (%v)", path, text, got, err)
			}
			return
		}
		if want := results[0][0]; !found || want.IsValid() && !reflect.DeepEqual(got, want.Interface()) {
			t.Errorf("%s of %s: got %v, want %v", path, text, got, want)
		}
	})
}
