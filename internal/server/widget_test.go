package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetsPath     = "/apis/example.com/v1/namespaces/default/widgets"
)

var definitionsResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

var widgetsResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// widgets returns a definition that uses most features of definitions, for tests to change.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(widgetDefinition), &crd); err != nil {
		panic(err) // unreachable: widgetDefinition is valid
	}
	return &crd
}

// oneVersion returns a definition of a kind with the single version v1; rest is the YAML of that version.
func oneVersion(kind, plural, rest string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: ` + kind + `, plural: ` + plural + `}
  versions:
  - name: v1
    served: true
    storage: true
` + rest
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string, default: blue, enum: [blue, red]}
              size: {type: integer, minimum: 1, maximum: 9}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              size: {type: integer}
`

// define creates a definition, which must be accepted.
func define(t testing.TB, w *testPlane, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	w.create(t, definitionsPath, must(jsonOf(crd))(t))
}

func jsonOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

func undefine(t testing.TB, w *testPlane, name string) {
	t.Helper()
	w.send(t, http.MethodDelete, definitionsPath+"/"+name, "").want(t, http.StatusOK)
}

// widget returns a widget in JSON; spec is JSON too.
func widget(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// definitionOf decodes a definition in YAML.
func definitionOf(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}
