package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
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

// TestWatchesEndWithTheirDefinition opens watches before a definition changes, and before it goes: clients have to look
// again, and hear all that was written until then.
func TestWatchesEndWithTheirDefinition(t *testing.T) {
	t.Parallel()
	path := definitionsPath + "/widgets.example.com"
	for _, c := range []struct {
		name, method, path, body string
		ends                     bool
		want                     string
	}{
		{"a change of the schema", http.MethodPatch, path, `{"spec":{"versions":[]}}`, false, "ADDED"}, // refused
		{"labels", http.MethodPatch, path, `{"metadata":{"labels":{"a":"b"}}}`, false, "ADDED"},
		{"a new short name", http.MethodPatch, path, `{"spec":{"names":{"kind":"Widget","plural":"widgets","singular":"widget","listKind":"WidgetList","shortNames":["wi"]}}}`, true, "ADDED"},
		{"its end", http.MethodDelete, path, "", true, "ADDED DELETED"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			w.define(t, widgets())
			w.send(t, http.MethodPost, widgetsPath, widget("a", `{}`)).want(t, http.StatusCreated)
			stream := must(w.dynamic.Resource(widgetsResource).Watch(t.Context(), metav1.ListOptions{}))(t)
			defer stream.Stop()
			synctest.Wait()
			w.send(t, c.method, c.path, c.body, "Content-Type", mergeType)
			got, open := heard(stream)
			if open == c.ends {
				t.Errorf("%s: the watch is open: %t", c.name, open)
			}
			if events := strings.Join(got, " "); events != c.want {
				t.Errorf("%s: %s, want %s", c.name, events, c.want)
			}
		})
	}
}

// heard is what a watch in a bubble has to tell, and whether it goes on.
func heard(w watch.Interface) (events []string, open bool) {
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
