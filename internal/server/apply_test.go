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

// An apply creates an object of every type of kind; through a subresource it does not.
func TestApplyCreates(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	const document = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"},"data":{"k":"1"}}`
	w.apply(t, configMaps+"/a", "m", document).want(t, http.StatusCreated)
	w.apply(t, widgetsPath+"/a", "m",
		"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 2}\n").want(t, http.StatusCreated)
	w.get(t, widgetsPath+"/a").owned(t, `m Apply example.com/v1 {"f:spec":{"f:size":{}}}`) // the color is a default
	w.apply(t, "/api/v1/namespaces/fresh", "m",
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"fresh"}}`).want(t, http.StatusCreated)

	w.apply(t, configMaps+"/b", "m", strings.Replace(document, `"name":"a"`, `"name":"b","uid":"u"`, 1)).
		wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
			"uid mismatch: the provided object specified uid u, and no existing object was found")
	w.apply(t, deployments+"/d/status", "m", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}}`).
		wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, `deployments.apps "d" not found`)
	w.apply(t, configMaps+"/a", "m", document).wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
		"the object has been modified")
	w.apply(t, "/api/v1/namespaces/none/configmaps/a", "m", strings.Replace(document, `,"resourceVersion":"7"`, "", 1)).
		wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "none" not found`)
}

// Duplicate fields of a document are a warning, or refused if strict.
func TestApplyFieldValidation(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, document := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: '1', k: '2'}\n",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}`,
	} {
		r := w.apply(t, configMaps+"/a", "m", document)
		if r.code >= 300 || !strings.Contains(r.header.Get("Warning"), `key \"k\" already set in map`) {
			t.Errorf("%d, warned %q: %s", r.code, r.header.Get("Warning"), r.body)
		}
		if r := w.apply(t, configMaps+"/a", "m&fieldValidation=Ignore", document); r.code != http.StatusOK ||
			r.header.Get("Warning") != "" {
			t.Errorf("ignored with %d, %q", r.code, r.header.Get("Warning"))
		}
		w.apply(t, configMaps+"/a", "m&fieldValidation=Strict", document).
			wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest,
				"error strict decoding patch: error converting YAML to JSON: yaml:")
	}
	w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=m", "\xa1aa", "Content-Type",
		"application/apply-patch+cbor").
		wantError(t, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "")
}

// Ownership is retained across versions: of an event, which two groups serve.
func TestOwnershipAcrossVersions(t *testing.T) {
	t.Parallel()
	w := start(t)
	const core, events = "/api/v1/namespaces/default/events/e", "/apis/events.k8s.io/v1/namespaces/default/events/e"
	oldest := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","labels":{"l":"1"}},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"message":"m"}`
	newer := `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e","labels":{"l":"2"}},"note":"m"}`
	w.apply(t, core, "old", oldest).want(t, http.StatusCreated)
	w.apply(t, events, "new", newer).wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
		`conflict with "old": .metadata.labels.l`)
	w.apply(t, events, "new&force=true", newer).owned(t,
		`new Apply events.k8s.io/v1 {"f:metadata":{"f:labels":{"f:l":{}}},"f:note":{}}`,
		`old Apply v1 {"f:involvedObject":{},"f:message":{}}`)
	w.apply(t, core, "old", oldest).wantError(t, http.StatusConflict, metav1.StatusReasonConflict,
		`conflict with "new": .metadata.labels.l`)
	// The note is the message: the field remains while one of the two managers applies it.
	w.apply(t, core, "old", strings.Replace(strings.Replace(oldest, `,"labels":{"l":"1"}`, "", 1), `,"message":"m"`, "",
		1)).owned(t,
		`new Apply events.k8s.io/v1 {"f:metadata":{"f:labels":{"f:l":{}}},"f:note":{}}`,
		`old Apply v1 {"f:involvedObject":{}}`)
	if got := valueAt(w.get(t, core).object(t), "message"); got != "m" {
		t.Errorf("the message is %v", got)
	}
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

// A null in an applied document is refused if the field is not nullable. Unlike in a create, it is not
// removed: it stays if the field is nullable, and becomes the default if there is one.
func TestApplyRejectsNullOfNonNullableField(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	setSchema(t, crd, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"optional":{"type":"object","properties":{"a":{"type":"string"}}},
		"whole":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},
		"list":{"type":"array","items":{"type":"string"}},
		"defaulted":{"type":"string","default":"blue"},
		"nullable":{"type":"object","nullable":true,"required":["a"],"properties":{"a":{"type":"string"}}}}}}}`)
	define(t, w, crd)
	document := func(name, spec string) string {
		return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	w.apply(t, widgetsPath+"/a", "m",
		document("a", `{"optional":{"a":"1"},"whole":{"a":"1"},"list":["x"],"defaulted":"red","nullable":{"a":"1"}}`)).
		want(t, http.StatusCreated)
	for field, want := range map[string]string{
		"optional": "must be of type object", "whole": "must be of type object", "list": "must be of type array",
	} {
		w.apply(t, widgetsPath+"/a", "m", document("a", `{"`+field+`":null}`)).
			wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec."+field+" in body "+want)
		w.apply(t, widgetsPath+"/new", "m", document("new", `{"`+field+`":null}`)).
			wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec."+field+" in body "+want)
	}
	w.send(t, http.MethodPost, widgetsPath, document("b", `{"optional":null}`)).want(t, http.StatusCreated)
	r := w.apply(t, widgetsPath+"/a", "m", document("a", `{"defaulted":null,"nullable":null}`))
	if r.want(t, http.StatusOK); !strings.Contains(string(r.body), `"spec":{"defaulted":"blue","nullable":null}`) {
		t.Errorf("nulls were applied as %s", r.body)
	}
}
