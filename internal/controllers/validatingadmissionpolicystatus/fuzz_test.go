package validatingadmissionpolicystatus

import (
	"slices"
	"strings"
	"testing"
)

// FuzzDocument reads a type from an OpenAPI document and checks an expression. Two reads must have the same result,
// which is empty or names the kind.
func FuzzDocument(f *testing.F) {
	for _, body := range []string{
		`{"components":{"schemas":{"a":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com",` +
			`"version":"v1","kind":"Widget"}],"properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/b"}]},` +
			`"metadata":{"$ref":"#/components/schemas/c"}}},"b":{"type":"array","items":{"$ref":"#/components/schemas/c"}},` +
			`"c":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/b"}}}}}`,
		`{"components":{"schemas":{"Widget":{"type":"object","x-kubernetes-preserve-unknown-fields":true,` +
			`"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Widget"}],"properties":{` +
			`"a-b":{"type":"string","enum":["c",1],"default":2,"maxLength":-1},"d":{"x-kubernetes-int-or-string":true},` +
			`"e":{"type":"object","x-kubernetes-embedded-resource":true},"f":{"type":["array","null"],"items":[]}}}}}}`,
		`{"components":{"schemas":{"Widget":null}}}`, `{}`, `[`,
	} {
		f.Add([]byte(body), "object.spec[0] == object.metadata.name")
	}
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		var all []string
		for range 2 {
			d, err := newDocument(body)
			if err != nil {
				return
			}
			declared, found := d.declare(widget, "0")
			if !found {
				return
			}
			results := make([]string, 1)
			if err := (declarations{}).check(t.Context(), widget, declared, []expression{{"", text}}, results); err != nil {
				t.Fatal(err)
			}
			all = append(all, results...)
		}
		const prefix = "example.com/v1, Kind=Widget: "
		if all = slices.Compact(all); len(all) != 1 || all[0] != "" && !strings.HasPrefix(all[0], prefix) {
			t.Errorf("got the results %q", all)
		}
	})
}
