package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var partsDefinition = oneVersion("Part", "parts", `
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              plain: {type: string}
              empty: {type: string, nullable: true}
              filled: {type: string, default: full}
              void: {type: string, nullable: true, default: full}
              port: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              rows: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, protocol]
                items: {type: object, required: [name], properties: {name: {type: string}, protocol: {type: string, default: TCP}}}
              selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
`)

// TestSchemaExtensions covers the effect of each x-kubernetes extension, nullable and default on a field.
func TestSchemaExtensions(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, definitionOf(t, partsDefinition))
	const path = "/apis/example.com/v1/namespaces/default/parts"
	for spec, want := range map[string]string{
		`{"plain":null,"filled":"x","void":"x"}`:   `{"filled":"x","void":"x"}`,
		`{"empty":null,"filled":null,"void":null}`: `{"empty":null,"filled":"full","void":null}`,
		`{}`:                                   `{"filled":"full","void":"full"}`,
		`{"filled":"","void":"","port":8080}`:  `{"filled":"","void":"","port":8080}`,
		`{"filled":"","void":"","port":"50%"}`: `{"filled":"","void":"","port":"50%"}`,
		`{"filled":"","void":"","port":true}`:  `spec.port: Invalid value: "boolean"`,
		`{"filled":"","void":"","free":{"x":{"y":1},"known":{"a":"","b":1}}}`:                                                     `{"filled":"","void":"","free":{"x":{"y":1},"known":{"a":""}}}`,
		`{"filled":"","void":"","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","nonsense":1},"spec":{"a":1}}}`: `{"filled":"","void":"","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":1}}}`,
		`{"template":{"kind":"Pod"}}`: `spec.template.apiVersion: Required value`,
		`{"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b"}}}`: `spec.template.metadata.name: Invalid value: "a/b"`,
		`{"tags":["a","b","a"]}`:                                                       `spec.tags[2]: Duplicate value: "a"`,
		`{"filled":"","void":"","rows":["a","a"]}`:                                     `{"filled":"","void":"","rows":["a","a"]}`,
		`{"ports":[{"name":"a"},{"name":"a","protocol":"TCP"}]}`:                       `spec.ports[1]: Duplicate value: {"name":"a","protocol":"TCP"}`,
		`{"filled":"","void":"","ports":[{"name":"a"},{"name":"a","protocol":"UDP"}]}`: `{"filled":"","void":"","ports":[{"name":"a","protocol":"TCP"},{"name":"a","protocol":"UDP"}]}`,
		`{"filled":"","void":"","selector":{"a":"b"}}`:                                 `{"filled":"","void":"","selector":{"a":"b"}}`,
	} {
		answer := w.send(t, http.MethodPost, path+"?fieldValidation=Ignore",
			`{"apiVersion":"example.com/v1","kind":"Part","metadata":{"generateName":"p-"},"spec":`+spec+`}`)
		if want[0] != '{' {
			answer.wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, want)
			continue
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		got := answer.want(t, http.StatusCreated).object(t)
		if a, b := must(jsonOf(got["spec"]))(t), must(jsonOf(wanted))(t); a != b {
			t.Errorf("%s became %s, want %s", spec, a, b)
		}
	}
}
