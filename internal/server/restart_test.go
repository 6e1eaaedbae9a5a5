package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// storedIn stores a plane's objects in a journal, from which another plane can start.
func storedIn(journal *storetest.Journal) func(*bowline.Options) {
	return func(o *bowline.Options) { o.Storage = journal.Open() }
}

// restart closes a plane and starts another one with the same journal.
func (w *testPlane) restart(t *testing.T, journal *storetest.Journal) *testPlane {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return start(t, storedIn(journal))
}

// Loaded objects are served without decoding them, although the definitions of their kinds are loaded later.
func TestLoadedObjectsAreServedWithoutDecoding(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"color":"red"}`))
	w.createConfigMaps(t, "default", "m")
	paths := []string{widgetsPath, widgetsPath + "/a", configMaps, configMaps + "/m", definitionsPath}
	want := w.state(t, paths...)
	w = w.restart(t, journal)
	if got := w.state(t, paths...); got != want {
		t.Errorf("after a restart:\n%s\nnot\n%s", got, want)
	}
	list := must(w.Source().List(t.Context(), widgetsResource, client.Options{}))(t)
	if form := (object.Form{APIVersion: "example.com/v1"}); len(list.Items) != 1 ||
		!list.Items[0].Fresh(list.Codec, form) {
		t.Errorf("the widgets %v are not served as they were stored", list.Items)
	}
}

// Loaded objects are read with the current definition, which may have changed since they were written: its
// defaults, its fields and its selectable fields, in each version.
func TestLoadedObjectsFollowCurrentDefinition(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"color":"red","size":3}`))
	var before struct {
		Metadata struct{ ResourceVersion string }
	}
	w.get(t, widgetsPath).into(t, &before)
	const schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com", `[
		{"op":"remove","path":"`+schema+`/size"}, {"op":"remove","path":"/spec/versions/0/subresources/scale"},
		{"op":"add","path":"`+schema+`/shape","value":{"type":"string","default":"round"}},
		{"op":"add","path":"/spec/versions/0/selectableFields/-","value":{"jsonPath":".spec.shape"}},
		{"op":"copy","from":"/spec/versions/0","path":"/spec/versions/1"},
		{"op":"replace","path":"/spec/versions/1/name","value":"v2"}, {"op":"replace","path":"/spec/versions/1/storage","value":false}
	]`, "Content-Type", jsonPatchType).want(t, http.StatusOK)
	w.create(t, widgetsPath, widget("b", `{"shape":"flat"}`))
	second := strings.Replace(widgetsPath, "/v1/", "/v2/", 1)
	paths := []string{
		widgetsPath, second, widgetsPath + "/a", second + "/a", widgetsPath + "?fieldSelector=spec.shape%3Dround",
		second +
			"?watch=true&allowWatchBookmarks=false&timeoutSeconds=1&fieldSelector=spec.shape%3Dround&resourceVersion=" +
			before.Metadata.ResourceVersion,
	}
	want := w.state(t, paths...)
	if a := w.get(t, second+"/a").object(t); valueAt(a, "spec", "shape") != "round" ||
		valueAt(a, "spec", "size") != nil ||
		valueAt(a, "spec", "color") != "red" {
		t.Errorf("before the restart: %v", a)
	}
	w = w.restart(t, journal)
	if got := w.state(t, paths...); got != want {
		t.Errorf("after a restart:\n%s\nnot\n%s", got, want)
	}
	w.send(t, http.MethodPatch, second+"/a", `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	w = w.restart(t, journal)
	if a := w.get(t, widgetsPath+"/a").object(t); valueAt(a, "spec", "shape") != "round" ||
		valueAt(a, "metadata", "labels", "x") != "y" {
		t.Errorf("written after a restart, and read after another: %v", a)
	}
}

// A watch resumes after a restart. Events from before it are read with the current definition.
func TestWatchResumesAfterRestart(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	define(t, w, widgets())
	from := must(w.Source().List(t.Context(), widgetsResource, client.Options{}))(t).Revision
	w.create(t, widgetsPath, widget("a", `{}`))
	w.send(t, http.MethodDelete, widgetsPath+"/a", "").want(t, http.StatusOK)
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com",
		`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/shape","value":{"type":"string","default":"round"}}]`,
		"Content-Type", jsonPatchType).want(t, http.StatusOK)
	w = w.restart(t, journal)
	watch := must(w.Source().Watch(t.Context(), widgetsResource, client.Options{After: from}))(t)
	defer watch.Stop()
	var received []string
	for len(received) < 2 {
		for _, e := range must(watch.Next(t.Context()))(t) {
			encoding := must(e.Object.Encoding(e.Codec, object.Form{APIVersion: "example.com/v1"}))(t)
			if !strings.Contains(string(encoding.Bytes()), `"shape":"round"`) {
				t.Errorf("%s shows %s", e.Type, encoding.Bytes())
			}
			received = append(received, string(e.Type))
		}
	}
	if got := strings.Join(received, " "); got != "ADDED DELETED" {
		t.Errorf("received %s", got)
	}
}
