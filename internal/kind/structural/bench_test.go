package structural

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
)

// wideDefinition returns a definition with 40 fields of all types, the usual validations, and 3 rules.
func wideDefinition() string {
	var fields []string
	for i := range 12 {
		fields = append(fields, fmt.Sprintf(`"text%d":{"type":"string","maxLength":64}`, i))
	}
	for i := range 6 {
		fields = append(fields,
			fmt.Sprintf(`"name%d":{"type":"string","maxLength":63,"pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}`, i))
	}
	for i := range 6 {
		fields = append(fields, fmt.Sprintf(`"count%d":{"type":"integer","format":"int32","minimum":0,"maximum":1000}`,
			i))
	}
	for i := range 3 {
		fields = append(fields, fmt.Sprintf(`"mode%d":{"type":"string","enum":["one","two","three"],"default":"one"}`,
			i))
	}
	for i := range 3 {
		fields = append(fields, fmt.Sprintf(`"on%d":{"type":"boolean","default":true}`, i))
	}
	fields = append(fields,
		`"port":{"x-kubernetes-int-or-string":true}`,
		`"since":{"type":"string","format":"date-time"}`,
		`"labels":{"type":"object","maxProperties":16,"additionalProperties":{"type":"string","maxLength":63}}`,
		`"tags":{"type":"array","maxItems":16,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":63}}`,
		`"ports":{"type":"array","maxItems":16,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name","port"],
		  "properties":{"name":{"type":"string","maxLength":15},"port":{"type":"integer","minimum":1,"maximum":65535},"protocol":{"type":"string","default":"TCP"}}}}`,
		`"cidr":{"type":"string","maxLength":43}`, `"gateway":{"type":"string","maxLength":39}`)
	return `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["text0", "cidr"], "properties": {` + strings.Join(fields, ",") + `},
          "x-kubernetes-validations": [
            {"rule": "!has(self.gateway) || cidr(self.cidr).containsIP(self.gateway)", "message": "gateway must lie in cidr"},
            {"rule": "self.count0 <= self.count1", "messageExpression": "self.text0 + ': count0 is more than count1'"},
            {"rule": "self.ports.all(p, p.port != 22 || p.name == 'ssh')", "message": "port 22 is ssh"}]},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]}}`
}

// wideObject is an instance of wide that sets all fields without a default.
func wideObject() []byte {
	spec := map[string]any{
		"port": 80, "since": "2026-01-02T03:04:05Z", "cidr": "192.168.0.0/16", "gateway": "192.168.0.1",
		"labels": map[string]any{"app": "a", "tier": "front"}, "tags": []any{"a", "b", "c"},
		"ports": []any{map[string]any{"name": "http", "port": 80}, map[string]any{"name": "ssh", "port": 22}},
	}
	for i := range 12 {
		spec[fmt.Sprintf("text%d", i)] = "some text that is not very long"
	}
	for i := range 6 {
		spec[fmt.Sprintf("name%d", i)] = "a-name"
		spec[fmt.Sprintf("count%d", i)] = i
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "labels": map[string]any{"app": "a"}}, "spec": spec})
	if err != nil {
		panic(err)
	}
	return data
}

// BenchmarkWide measures the kind's share of a create, and each stage of it: 40 fields, 3 rules.
func BenchmarkWide(b *testing.B) {
	k := newKind(b, wideDefinition())
	body := wideObject()
	create(b, k, exampleV1, body)
	obj := decode(b, k, string(body))
	changed := obj.DeepCopy()
	changed.SetLabels(map[string]string{"app": "b"})
	stages := map[string]func(){
		"create":          func() { create(b, k, exampleV1, body) },
		"decode":          func() { decode(b, k, string(body)) },
		"decode strictly": func() { _, _, _ = k.DecodeRequest(exampleV1, body, false) },
		"validate":        func() { k.Validate(b.Context(), obj, nil, "") },
		"validate update": func() { k.Validate(b.Context(), changed, obj, "") },
		"prepare":         func() { k.Prepare(obj, nil, "") },
		"encode":          func() { _, _ = k.Encode(exampleV1, obj) },
	}
	for _, stage := range []string{"create", "decode", "decode strictly", "prepare", "validate", "validate update",
		"encode"} {
		b.Run(stage, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stages[stage]()
			}
		})
	}
}

// BenchmarkFirstWide measures the first create of a definition, which compiles its schema and rules.
func BenchmarkFirstWide(b *testing.B) {
	crd, cache, body := parseDefinition(b, wideDefinition()), object.NewCache(0), wideObject()
	b.ReportAllocs()
	for b.Loop() {
		k, err := New(cache, crd, nil)
		if err != nil {
			b.Fatal(err)
		}
		create(b, k, exampleV1, body)
	}
}
