package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// An object stays readable and writable after versions are added, after another version is stored, and after
// its own is removed.
func TestObjectsSurviveVersionChanges(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.send(t, http.MethodPost, widgetsPath, widget("a", `{"color":"red"}`)).want(t, http.StatusCreated)
	path := definitionsPath + "/widgets.example.com"
	second := strings.Replace(widgetsPath, "/v1/", "/v2/", 1) + "/a"
	shows := func(path, version string) {
		t.Helper()
		got := w.get(t, path).want(t, http.StatusOK).object(t)
		if got["apiVersion"] != "example.com/"+version || valueAt(got, "spec", "color") != "red" {
			t.Errorf("%s is %v", path, got)
		}
	}
	change := func(steps string) {
		t.Helper()
		w.send(t, http.MethodPatch, path, steps, "Content-Type", jsonPatchType).want(t, http.StatusOK)
	}
	change(`[{"op":"copy","from":"/spec/versions/0","path":"/spec/versions/1"},
		{"op":"replace","path":"/spec/versions/1/name","value":"v2"},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	shows(widgetsPath+"/a", "v1")
	shows(second, "v2")
	change(`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`)
	shows(widgetsPath+"/a", "v1")
	shows(second, "v2")
	w.send(t, http.MethodPatch, second, `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	shows(widgetsPath+"/a", "v1")
	w.send(t, http.MethodPatch, path+"/status", `{"status":{"storedVersions":["v2"]}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	change(`[{"op":"remove","path":"/spec/versions/0"}]`)
	shows(second, "v2")
	w.get(t, widgetsPath+"/a").want(t, http.StatusNotFound)
	w.send(t, http.MethodDelete, second, "").want(t, http.StatusOK)
}

// Watches end when their definition changes or is deleted, after all events up to then, so that clients list
// again.
func TestDefinitionChangeEndsWatches(t *testing.T) {
	t.Parallel()
	path := definitionsPath + "/widgets.example.com"
	for _, c := range []struct {
		name, method, path, body string
		ends                     bool
		want                     string
	}{
		{"a change of the schema", http.MethodPatch, path, `{"spec":{"versions":[]}}`, false, "ADDED"}, // refused
		{"labels", http.MethodPatch, path, `{"metadata":{"labels":{"a":"b"}}}`, false, "ADDED"},
		{"a new short name", http.MethodPatch, path,
			`{"spec":{"names":{"kind":"Widget","plural":"widgets","singular":"widget","listKind":"WidgetList","shortNames":["wi"]}}}`, true, "ADDED"},
		{"its end", http.MethodDelete, path, "", true, "ADDED DELETED"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			define(t, w, widgets())
			w.send(t, http.MethodPost, widgetsPath, widget("a", `{}`)).want(t, http.StatusCreated)
			stream := must(w.dynamic.Resource(widgetsResource).Watch(t.Context(), metav1.ListOptions{}))(t)
			defer stream.Stop()
			synctest.Wait()
			w.send(t, c.method, c.path, c.body, "Content-Type", mergeType)
			got, open := receivedEvents(stream)
			if open == c.ends {
				t.Errorf("%s: the watch is open: %t", c.name, open)
			}
			if events := strings.Join(got, " "); events != c.want {
				t.Errorf("%s: %s, want %s", c.name, events, c.want)
			}
		})
	}
}

// receivedEvents returns the events of a watch in a bubble, and whether the watch is still open.
func receivedEvents(w watch.Interface) (events []string, open bool) {
	for {
		synctest.Wait()
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return events, false
			}
			events = append(events, string(e.Type))
		default:
			return events, true
		}
	}
}

// An apply fails if the object is owned in a version that lacks a field, as in Kubernetes, which compares the
// object in each version that has owners. Updates succeed and change no ownership. After a rewrite in the new
// version, applies succeed.
func TestApplyRejectsOwnerVersionWithoutField(t *testing.T) {
	t.Parallel()
	w := start(t)
	crd := widgets()
	crd.Spec.Versions = append(crd.Spec.Versions, *crd.Spec.Versions[0].DeepCopy())
	v1, v2 := &crd.Spec.Versions[0], &crd.Spec.Versions[1]
	v1.Storage, v2.Name, v2.SelectableFields = false, "v2", nil
	spec := v2.Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["shade"] = apiextensionsv1.JSONSchemaProps{Type: "string",
		Default: &apiextensionsv1.JSON{Raw: []byte(`"dark"`)}}
	v2.Schema.OpenAPIV3Schema.Properties["spec"] = spec
	define(t, w, crd)
	old := widgetsPath + "/a"
	path := strings.Replace(old, "/v1/", "/v2/", 1)
	document := func(version, color string) string {
		return `{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"` +
			color + `"}}`
	}
	w.apply(t, old, "me", document("v1", "red")).want(t, http.StatusCreated)
	w.apply(t, path, "me", document("v2", "red")).wantError(t, http.StatusInternalServerError, "",
		".spec.shade: field not declared in schema")
	w.send(t, http.MethodPatch, path, `{"spec":{"color":"blue"}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	rewritten := w.get(t, path).want(t, http.StatusOK).object(t)
	entry := rewritten["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
	if valueAt(entry, "manager") != "me" || valueAt(entry, "apiVersion") != "example.com/v1" {
		t.Fatalf("after the update, the owner is %v", entry)
	}
	w.send(t, http.MethodPatch, path,
		`[{"op":"replace","path":"/metadata/managedFields/0/apiVersion","value":"example.com/v2"}]`,
		"Content-Type", jsonPatchType).want(t, http.StatusOK)
	w.apply(t, path, "me", document("v2", "red")).want(t, http.StatusOK)
}

// An apply takes over the fields that its manager applied through a version that was removed from the definition: the
// manager still owns the fields in its new document, and the apply removes the rest. Other managers keep their fields.
// Kubernetes rejects every apply to such an object.
func TestApplyAfterVersionIsRemoved(t *testing.T) {
	t.Parallel()
	for _, updated := range []bool{false, true} { // after the version is removed, and before the apply
		w := start(t)
		crd := widgets()
		crd.Spec.Versions = append(crd.Spec.Versions, *crd.Spec.Versions[0].DeepCopy())
		v1, alpha := &crd.Spec.Versions[0], &crd.Spec.Versions[1]
		alpha.Name, alpha.Storage, alpha.SelectableFields = "v1alpha1", false, nil
		alpha.Schema.OpenAPIV3Schema.Properties["spec"].Properties["shade"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		if _, both := v1.Schema.OpenAPIV3Schema.Properties["spec"].Properties["shade"]; both {
			t.Fatal("v1 has the field that only v1alpha1 should have")
		}
		define(t, w, crd)
		path := widgetsPath + "/a"
		old := strings.Replace(path, "/v1/", "/v1alpha1/", 1)
		document := func(version, labels, spec string) string {
			return `{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{"name":"a","labels":{` + labels +
				`}},"spec":{` + spec + `}}`
		}
		w.apply(t, old, "me", document("v1alpha1", `"a":"b"`, `"color":"red","size":3,"shade":"dark"`)).want(t,
			http.StatusCreated)
		w.apply(t, old, "you", document("v1alpha1", `"c":"d"`, ``)).want(t, http.StatusOK)
		for _, url := range []string{path, old} { // the entries of one manager in two versions become one
			label := map[string]string{path: `"v1":"x"`, old: `"v1alpha1":"x"`}[url]
			w.send(t, http.MethodPatch, url+"?fieldManager=tool", `{"metadata":{"labels":{`+label+`}}}`, "Content-Type",
				mergeType).want(t, http.StatusOK)
		}
		w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com",
			`[{"op":"test","path":"/spec/versions/1/name","value":"v1alpha1"},{"op":"remove","path":"/spec/versions/1"}]`,
			"Content-Type", jsonPatchType).want(t, http.StatusOK)
		if updated {
			w.send(t, http.MethodPatch, path+"?fieldManager=tool", `{"metadata":{"labels":{"v1":"y"}}}`, "Content-Type",
				mergeType).want(t, http.StatusOK)
		}

		applied := w.apply(t, path, "me", document("v1", ``, `"color":"red"`)).want(t, http.StatusOK)
		got := applied.object(t)
		if valueAt(got, "spec", "color") != "red" || valueAt(got, "spec", "size") != nil ||
			valueAt(got, "metadata", "labels", "a") != nil || valueAt(got, "metadata", "labels", "c") != "d" {
			t.Errorf("updated %t: after the apply, the object is %v", updated, got)
		}
		owners := applied.owners(t)
		slices.Sort(owners)
		want := []string{
			`me Apply example.com/v1 {"f:metadata":{"f:labels":{}},"f:spec":{"f:color":{}}}`,
			`tool Update example.com/v1 {"f:metadata":{"f:labels":{"f:v1":{},"f:v1alpha1":{}}}}`,
			`you Apply example.com/v1 {"f:metadata":{"f:labels":{"f:c":{}}},"f:spec":{}}`,
		}
		if !slices.Equal(owners, want) {
			t.Errorf("updated %t: the owners are\n%s\nwant\n%s", updated, strings.Join(owners, "\n"), strings.Join(want, "\n"))
		}
		w.apply(t, path, "you", document("v1", ``, `"color":"blue"`)).wantError(t, http.StatusConflict,
			metav1.StatusReasonConflict, `conflict with "me": .spec.color`)
	}
}
