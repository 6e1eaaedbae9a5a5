package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestObjectsSurviveChangesOfTheirDefinition reads and writes an object that was made before versions were added, before
// another one was stored, and before its own was taken out.
func TestObjectsSurviveChangesOfTheirDefinition(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.define(t, widgets())
	w.send(t, http.MethodPost, widgetsPath, widget("a", `{"color":"red"}`)).want(t, http.StatusCreated)
	path := definitionsPath + "/widgets.example.com"
	second := strings.Replace(widgetsPath, "/v1/", "/v2/", 1) + "/a"
	shows := func(path, version string) {
		t.Helper()
		got := w.get(t, path).want(t, http.StatusOK).object(t)
		if got["apiVersion"] != "example.com/"+version || at(got, "spec", "color") != "red" {
			t.Errorf("%s is %v", path, got)
		}
	}
	change := func(steps string) {
		t.Helper()
		w.send(t, http.MethodPatch, path, steps, "Content-Type", "application/json-patch+json").want(t, http.StatusOK)
	}
	change(`[{"op":"copy","from":"/spec/versions/0","path":"/spec/versions/1"},
		{"op":"replace","path":"/spec/versions/1/name","value":"v2"},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	shows(widgetsPath+"/a", "v1")
	shows(second, "v2")
	change(`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`)
	shows(widgetsPath+"/a", "v1")
	shows(second, "v2")
	w.send(t, http.MethodPatch, second, `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	shows(widgetsPath+"/a", "v1")
	w.send(t, http.MethodPatch, path+"/status", `{"status":{"storedVersions":["v2"]}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	change(`[{"op":"remove","path":"/spec/versions/0"}]`)
	shows(second, "v2")
	w.get(t, widgetsPath+"/a").want(t, http.StatusNotFound)
	w.send(t, http.MethodDelete, second, "").want(t, http.StatusOK)
}
