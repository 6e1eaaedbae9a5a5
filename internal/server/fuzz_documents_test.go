package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// FuzzApply applies any document as a new or an existing object. If it is accepted, applying it again changes nothing.
func FuzzApply(f *testing.F) {
	g := fuzzTarget(f)
	paths := []string{configMaps + "/a", configMaps + "/new", deployments + "/a", widgetsPath + "/a", widgetsPath + "/new",
		"/api/v1/namespaces/default/services/a", deployments + "/a/status", widgetsPath + "/a/scale", deployments + "/a/scale"}
	head := map[string]string{"configmaps": "apiVersion: v1\nkind: ConfigMap\n", "deployments": "apiVersion: apps/v1\nkind: Deployment\n",
		"widgets": "apiVersion: example.com/v1\nkind: Widget\n", "services": "apiVersion: v1\nkind: Service\n"}
	for i, path := range paths {
		parts := strings.Split(path, "/")
		resource, name := parts[len(parts)-2], parts[len(parts)-1]
		for _, rest := range []string{"data: {k: v}\n", "spec:\n  ports: [{port: 80, name: x}]\n", "spec: {size: 1, replicas: 2}\n",
			"metadata: {name: " + name + ", labels: {a: b}, finalizers: [a.b/c]}\n", "metadata: &a {name: *a}\n",
			"metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsV1: {f:a: {}}}]}\n"} {
			f.Add(uint8(i), []byte(head[resource]+rest))
		}
		f.Add(uint8(i), []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":3}}`))
	}
	f.Fuzz(func(t *testing.T, which uint8, document []byte) {
		path := paths[int(which)%len(paths)]
		u := &url.URL{Path: path, RawQuery: "fieldManager=fuzz&force=true"}
		first := g.apply(t, u, document)
		if first.code >= 300 {
			g.alive(t)
			return
		}
		if strings.HasSuffix(path, "/new") {
			defer g.discard(t, &url.URL{Path: path})
		}
		if strings.HasSuffix(path, "/scale") { // the library removes the previous owner of replicas with the next write
			first = g.apply(t, u, document)
		}
		again := g.apply(t, u, document)
		if again.code != http.StatusOK || again.body.String() != first.body.String() {
			t.Errorf("%s %q: applied again: %d\n%s\nwas\n%s", path, document, again.code, again.body.String(), first.body.String())
		}
	})
}

// apply sends a server-side apply. Kubernetes answers with a 500 for a document that does not fit the schema.
func (g *target) apply(t *testing.T, u *url.URL, document []byte) *recorded {
	t.Helper()
	r := g.send(t, http.MethodPatch, u, http.Header{"Content-Type": {applyType}}, document)
	if r.code == http.StatusInternalServerError && strings.Contains(r.body.String(), "panicked") {
		t.Errorf("%s %q: %s", u, document, r.body.String())
	}
	return r
}

// FuzzDefinitions defines a kind with any schema, rule and column, and creates an object of it. The server answers with
// no 500, lists the objects as a table, and its OpenAPI documents and discovery can be decoded.
func FuzzDefinitions(f *testing.F) {
	g := fuzzTarget(f)
	schemas := []string{`{"type":"string","default":"x","maxLength":9}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"nullable":true}`, `{"$ref":"#/x"}`, `{"type":["a"]}`,
		`{"type":"array","items":{"type":"object","properties":{"k":{"type":"string","pattern":"^[a-z]+$"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`,
		`{"x-kubernetes-int-or-string":true,"enum":[1,"a",null],"title":"\u0001","externalDocs":{"url":"x"}}`,
		`{"type":"number","multipleOf":0.1,"minimum":1e300,"format":"double","example":{"a":[]}}`,
		`{"type":"object","additionalProperties":{"type":"string","format":"date-time","not":{"enum":["x"]}},"oneOf":[{"required":["a"]}]}`}
	for i, schema := range schemas {
		f.Add(schema, "self.spec == oldSelf.spec", ".spec", `"x"`)
		f.Add(schema, []string{"has(self.spec)", "self.spec.a > 1", "1 +", "self.metadata.name.matches('(')", "quantity('1e9999999') > 1"}[i%5],
			[]string{".spec.a", "..a", ".spec[?(@.a>1)]", "", ".metadata.labels['a']"}[i%5], `{"a":1,"b":[{"k":"x"}]}`)
	}
	f.Fuzz(func(t *testing.T, schema, rule, column, spec string) {
		definition, ok := fuzzedDefinition(t, schema, rule, column)
		if !ok {
			return
		}
		defined := g.ask(t, http.MethodPost, &url.URL{Path: definitionsPath}, jsonType, definition)
		if defined.code != http.StatusCreated {
			return
		}
		path := &url.URL{Path: definitionsPath + "/fuzzes.fuzz.example.com"}
		defer g.discard(t, path)
		objects := &url.URL{Path: "/apis/fuzz.example.com/v1/fuzzes"}
		body := `{"apiVersion":"fuzz.example.com/v1","kind":"Fuzz","metadata":{"name":"a"},"spec":` + spec + `}`
		created := g.ask(t, http.MethodPost, objects, jsonType, []byte(body))
		if created.code == http.StatusCreated {
			defer g.discard(t, &url.URL{Path: objects.Path + "/a"})
		}
		for _, read := range []struct{ path, accept string }{{objects.Path, tableType}, {objects.Path, yamlType},
			{"/openapi/v3/apis/fuzz.example.com/v1", jsonType}, {"/openapi/v2", jsonType}, {"/apis/fuzz.example.com/v1", jsonType}} {
			r := g.send(t, http.MethodGet, &url.URL{Path: read.path}, http.Header{"Accept": {read.accept}}, nil)
			if r.code != http.StatusOK || read.accept != yamlType && !json.Valid(r.body.Bytes()) {
				t.Errorf("%s with %s: %d %.500s", definition, read.path, r.code, r.body.String())
			}
		}
	})
}

// fuzzedDefinition returns a definition as JSON, unless a part is longer than a fuzzer needs, or the schema is no JSON.
func fuzzedDefinition(t *testing.T, schema, rule, column string) (definition []byte, ok bool) {
	t.Helper()
	var spec map[string]any
	if len(schema)+len(rule)+len(column) > 1_000 ||
		kjson.UnmarshalCaseSensitivePreserveInts([]byte(schema), &spec) != nil {
		return nil, false
	}
	type m = map[string]any
	root := m{"type": "object", "properties": m{"spec": spec}}
	if rule != "" {
		root["x-kubernetes-validations"] = []any{m{"rule": rule}}
	}
	version := m{"name": "v1", "served": true, "storage": true, "schema": m{"openAPIV3Schema": root}}
	if column != "" {
		version["additionalPrinterColumns"] = []any{m{"name": "C", "type": "string", "jsonPath": column}}
	}
	definition, err := json.Marshal(m{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": m{"name": "fuzzes.fuzz.example.com"}, "spec": m{"group": "fuzz.example.com", "scope": "Cluster",
			"names": m{"plural": "fuzzes", "kind": "Fuzz"}, "versions": []any{version}}})
	return definition, err == nil
}

// FuzzHeaders sends any Accept, Accept-Encoding and Content-Type headers. An answer has the type that it announces.
func FuzzHeaders(f *testing.F) {
	g := fuzzTarget(f)
	paths := []string{configMaps, configMaps + "/a", widgetsPath, "/apis", "/api/v1", "/openapi/v3", "/openapi/v2", "/version",
		"/openapi/v3/api/v1", "/metrics"}
	for i := range paths {
		for _, accept := range []string{"", "*/*", "application/json;q=0.1,application/yaml;q=NaN", tableType, partialType, protobufType,
			"application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "a/b;q=1e999", ";;,,", "application/*;q=-1"} {
			f.Add(uint8(i), accept, "gzip;q=0.1, identity;q=0", "application/json; charset=\"")
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, accept, encoding, contentType string) {
		path := paths[int(which)%len(paths)]
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			h := http.Header{"Accept": {accept}, "Accept-Encoding": {encoding}, "Content-Type": {contentType}}
			r := g.send(t, method, &url.URL{Path: path, RawQuery: "dryRun=All"}, h, []byte(`{}`))
			if r.code == http.StatusInternalServerError {
				t.Errorf("%s %s %q: %s", method, path, h, r.body.String())
			}
			if err := hasType(r); err != nil {
				t.Errorf("%s %s %q: %v", method, path, h, err)
			}
		}
	})
}

// hasType returns an error unless the body of an answer has its Content-Type.
func hasType(r *recorded) error {
	body, form := r.body.Bytes(), r.header.Get("Content-Type")
	var value any
	switch {
	case r.header.Get("Content-Encoding") == "gzip":
		if len(body) < 2 || body[0] != 0x1f || body[1] != 0x8b {
			return fmt.Errorf("gzip begins with %.2x", body)
		}
	case strings.HasPrefix(form, jsonType) && !json.Valid(body):
		return fmt.Errorf("no JSON: %.200q", body)
	case strings.HasPrefix(form, yamlType):
		return yaml.Unmarshal(body, &value)
	case strings.HasPrefix(form, protobufType) && !strings.HasPrefix(string(body), "k8s\x00"):
		return fmt.Errorf("no protobuf: %.20q", body)
	}
	return nil
}
