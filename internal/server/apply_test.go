package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apply sends a server-side apply.
func (w *testPlane) apply(t testing.TB, path, manager, document string) response {
	t.Helper()
	return w.send(t, http.MethodPatch, path+"?fieldManager="+manager, document, "Content-Type", applyType)
}

// merging is a schema with each kind of list and map.
const merging = `{"type":"object","properties":{"spec":{"type":"object","properties":{
	"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
	"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],"items":{"type":"object","required":["name"],
		"properties":{"name":{"type":"string"},"port":{"type":"integer","default":80},"v":{"x-kubernetes-int-or-string":true}}}},
	"atomic":{"type":"array","items":{"type":"string"}},
	"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
	"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
	"inner":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
	"size":{"type":"integer"}}},"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}`

// setSchema replaces the schema of a definition's first version.
func setSchema(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition, schema string) {
	t.Helper()
	v := &crd.Spec.Versions[0]
	v.SelectableFields, v.AdditionalPrinterColumns = nil, nil
	v.Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(schema), v.Schema.OpenAPIV3Schema); err != nil {
		t.Fatal(err)
	}
}

// Custom resources are merged by schema: sets and maps by their items, atomic ones as a whole, unknown ones
// by their fields.
func TestApplyMergesCustomResourceBySchema(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	setSchema(t, crd, merging)
	define(t, w, crd)
	document := func(spec string) string {
		return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":` + spec + `}`
	}
	w.apply(t, widgetsPath+"/a", "one",
		document(`{"set":["a"],"map":[{"name":"x","v":1}],"atomic":["p"],"whole":{"k":"1"},"free":{"deep":{"er":[1]}},`+
			`"inner":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"l":"1"}},"other":1},"size":1}`)).want(t, http.StatusCreated)
	w.apply(t, widgetsPath+"/a", "two",
		document(`{"set":["b"],"map":[{"name":"x","port":81,"v":"2"}],"free":{"deep":{"est":true}}}`)).owned(t,
		`one Apply example.com/v1 {"f:spec":{"f:atomic":{},"f:free":{"f:deep":{".":{},"f:er":{}}},"f:inner":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:labels":{"f:l":{}},"f:name":{}},"f:other":{}},`+
			`"f:map":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:name":{},"f:v":{}}},"f:set":{"v:\"a\"":{}},"f:size":{},"f:whole":{}}}`,
		`two Apply example.com/v1 {"f:spec":{"f:free":{"f:deep":{".":{},"f:est":{}}},"f:map":{"k:{\"name\":\"x\",\"port\":81}":{".":{},"f:name":{},"f:port":{},"f:v":{}}},"f:set":{"v:\"b\"":{}}}}`)
	for field, spec := range map[string]string{
		".spec.atomic": `{"atomic":["p","q"]}`, ".spec.whole": `{"whole":{"l":"2"}}`,
		`.spec.map[name="x",port=80].v`: `{"map":[{"name":"x","v":5}]}`,
		".spec.inner.metadata.labels.l": `{"inner":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"l":"2"}}}}`,
	} {
		w.apply(t, widgetsPath+"/a", "two", document(spec)).wantError(t, http.StatusConflict,
			metav1.StatusReasonConflict,
			`conflict with "one": `+field)
	}
	w.apply(t, widgetsPath+"/a", "two", document(`{"unknown":1}`)).wantError(t, http.StatusInternalServerError, "",
		".spec.unknown: field not declared in schema")
	w.apply(t, widgetsPath+"/a", "two", document(`{"set":["b","b"]}`)).wantError(t, http.StatusInternalServerError, "",
		`.spec.set: duplicate entries for key [="b"]`)

	// spec.size holds the replicas of the scale: scaling needs the ownership of the manager that applied the
	// size.
	scale := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":3}}`
	w.apply(t, widgetsPath+"/a/scale", "hpa", scale).wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
		`conflict with "one": .spec.replicas`)
	w.apply(t, widgetsPath+"/a/scale", "hpa&force=true", scale).want(t, http.StatusOK)
	if all := w.get(t, widgetsPath+"/a").owners(t); len(all) != 3 ||
		strings.Count(strings.Join(all, " "), "f:size") != 1 ||
		!slices.Contains(all, `hpa Apply/scale example.com/v1 {"f:spec":{"f:size":{}}}`) {
		t.Errorf("after the scale: %q", all)
	}
	w.apply(t, widgetsPath+"/a/status", "st",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"size":9},"status":{"size":1}}`).want(t, http.StatusOK)
	if all := w.get(t, widgetsPath+"/a").owners(t); len(all) != 4 ||
		!slices.Contains(all, `st Apply/status example.com/v1 {"f:status":{"f:size":{}}}`) {
		t.Errorf("after the status: %q", all)
	}
}

// The ownership of a created custom resource follows its schema, as that of an applied one.
func TestCreateOwnsCustomResourceFieldsBySchema(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	setSchema(t, crd, merging)
	define(t, w, crd)
	w.send(t, http.MethodPost, widgetsPath+"?fieldManager=m",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"set":["a"],`+
			`"map":[{"name":"x","v":1}],"atomic":["p"],"whole":{"k":"1"},"free":{"deep":{"er":[1]}},"size":1},"status":{"size":3}}`).want(t, http.StatusCreated)
	w.get(t, widgetsPath+"/a").owned(t,
		`m Update example.com/v1 {"f:spec":{".":{},"f:atomic":{},"f:free":{".":{},"f:deep":{".":{},"f:er":{}}},`+
			`"f:map":{".":{},"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:name":{},"f:port":{},"f:v":{}}},"f:set":{".":{},"v:\"a\"":{}},"f:size":{},"f:whole":{}}}`)
}
