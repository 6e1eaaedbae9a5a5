package structural

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// newKind returns the kind of a definition in JSON.
func newKind(t testing.TB, definition string) kind.Kind {
	t.Helper()
	k, err := New(object.NewCache(1<<20), parseDefinition(t, definition), nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func parseDefinition(t testing.TB, definition string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(definition), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// widget is a definition with most features: two versions that share a schema, both subresources, defaults,
// maps, sets, embedded objects, columns and selectable fields.
const widget = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
  "spec": {"group": "example.com", "scope": "Namespaced",
    "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget", "shortNames": ["wd"], "categories": ["all"]},
    "versions": [
      {"name": "v1alpha1", "served": true, "storage": false, "deprecated": true,
       "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
         "replicas": {"type": "integer"}, "size": {"type": "string", "default": "small"}}}}}}},
      {"name": "v1beta1", "served": false, "storage": false, "deprecated": true, "deprecationWarning": "gone soon",
       "schema": {"openAPIV3Schema": {"type": "object"}}},
      {"name": "v1", "served": true, "storage": true,
       "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
       "selectableFields": [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.replicas"}],
       "additionalPrinterColumns": [
         {"name": "Size", "type": "string", "jsonPath": ".spec.size", "description": "how large"},
         {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
         {"name": "Load", "type": "number", "jsonPath": ".spec.load"},
         {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
         {"name": "Since", "type": "date", "jsonPath": ".spec.since", "priority": 1},
         {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
         {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}],
       "schema": {"openAPIV3Schema": {"type": "object", "properties": {
         "spec": {"type": "object", "properties": {
           "replicas": {"type": "integer"}, "size": {"type": "string", "default": "small", "enum": ["small", "large"]},
           "load": {"type": "number"}, "on": {"type": "boolean"}, "since": {"type": "string"},
           "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
           "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
             "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}}}},
           "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
           "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
           "note": {"type": "string", "nullable": true}}},
         "status": {"type": "object", "properties": {
           "replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string", "maxLength": 5},
           "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}}]}}`

// gadget is a definition without a schema, as a definition from apiextensions.k8s.io/v1beta1 appears in v1.
const gadget = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.example.com"},
  "spec": {"group": "example.com", "scope": "Cluster", "preserveUnknownFields": true, "names": {"kind": "Gadget", "plural": "gadgets"},
    "versions": [{"name": "v1", "served": true, "storage": true}]}}`

// pending is a definition whose schema has a default for the status.
const pending = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
  "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "status": {"type": "object", "default": {"phase": "Pending"}, "properties": {"phase": {"type": "string"}}}}}}}]}}`

var exampleV1 = object.Form{APIVersion: "example.com/v1"}

// decode decodes a body that must be valid.
func decode(t testing.TB, k kind.Kind, body string) *unstructured.Unstructured {
	t.Helper()
	obj, _, err := k.DecodeRequest(exampleV1, []byte(body), true)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*unstructured.Unstructured)
}

// widgetWith returns a Widget with these fields in addition to its metadata.
func widgetWith(t testing.TB, k kind.Kind, fields string) *unstructured.Unstructured {
	t.Helper()
	return decode(t, k, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},`+fields+`}`)
}
