package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects that were stored before their schema changed are read with its new defaults and without its removed
// fields, by every type of read. Reading does not write them.
func TestSchemaChangeAppliesToStoredObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	made := w.create(t, widgetsPath, widget("a", `{"size":3}`))
	path := definitionsPath + "/widgets.example.com"
	change := func(steps string) {
		t.Helper()
		w.send(t, http.MethodPatch, path, steps, "Content-Type", jsonPatchType).want(t, http.StatusOK)
	}
	const properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"
	change(`[{"op":"add","path":"` + properties + `shape","value":{"type":"string","default":"round"}},
		{"op":"remove","path":"` + properties + `size"},{"op":"remove","path":"/spec/versions/0/subresources/scale"},
		{"op":"add","path":"/spec/versions/0/selectableFields/-","value":{"jsonPath":".spec.shape"}}]`)
	check := func(how string, got map[string]any) {
		t.Helper()
		if valueAt(got, "spec", "shape") != "round" || valueAt(got, "spec", "size") != nil ||
			valueAt(got, "spec", "color") != "blue" {
			t.Errorf("%s: %v", how, got)
		}
		if valueAt(got, "metadata", "resourceVersion") != valueAt(made, "metadata", "resourceVersion") {
			t.Errorf("%s wrote the object", how)
		}
	}
	check("get", w.get(t, widgetsPath+"/a").object(t))
	if got := w.names(t, widgetsPath, "fieldSelector", "spec.shape=round"); got != "a" {
		t.Errorf("a field that was added later selects %q, want a", got)
	}
	list := w.get(t, widgetsPath).object(t)
	check("list", list["items"].([]any)[0].(map[string]any))
	yaml := w.get(t, widgetsPath+"/a", "Accept", yamlType).want(t, http.StatusOK)
	if !strings.Contains(string(yaml.body), "shape: round") {
		t.Errorf("as YAML: %s", yaml.body)
	}
	watch := must(w.dynamic.Resource(widgetsResource).Watch(t.Context(), metav1.ListOptions{}))(t)
	defer watch.Stop()
	check("watch", (<-watch.ResultChan()).Object.(*unstructured.Unstructured).Object)

	same := w.get(t, widgetsPath+"/a")
	stored := w.send(t, http.MethodPut, widgetsPath+"/a", string(same.body)).want(t, http.StatusOK).object(t)
	if valueAt(stored, "metadata", "resourceVersion") == valueAt(made, "metadata", "resourceVersion") {
		t.Error("a write of what was read did not store the defaults")
	}
	change(`[{"op":"replace","path":"` + properties + `shape/default","value":"square"}]`)
	if got := valueAt(w.get(t, widgetsPath+"/a").object(t), "spec", "shape"); got != "round" {
		t.Errorf("the stored default is shown as %v, want round", got)
	}
}

// After a change of a definition that does not affect the objects, reads serve the stored bytes.
func TestDefinitionChangeWithoutEffectOnObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"size":3}`))
	before := w.get(t, widgetsPath+"/a").body
	for _, step := range []string{
		`{"op":"add","path":"/spec/names/shortNames/-","value":"wdg"}`,
		`{"op":"add","path":"/spec/versions/0/additionalPrinterColumns/-","value":{"name":"Size","type":"integer","jsonPath":".spec.size"}}`,
		`{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"A widget."}`,
		`{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more","value":{"type":"string"}}`,
	} {
		w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com", "["+step+"]", "Content-Type",
			jsonPatchType).want(t, http.StatusOK)
		if after := w.get(t, widgetsPath+"/a").body; string(after) != string(before) {
			t.Errorf("after %s: %s, was %s", step, after, before)
		}
	}
}
