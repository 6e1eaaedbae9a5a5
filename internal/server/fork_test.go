package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// fork starts a plane with the state of w.
func (w *testPlane) fork(t testing.TB) *testPlane {
	t.Helper()
	f := &testPlane{Plane: must(w.Plane.Fork(t.Context()))(t)}
	t.Cleanup(func() { f.Close() })
	f.connect(t, f.RESTConfig())
	return f
}

// A fork has its own client of conversion webhooks, which works after its plane is closed, and shares
// converted objects.
func TestForkHasItsOwnConversionClient(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	w.create(t, lampsV1, lamp("v1", "b", `{"color":"red"}`))
	want := w.get(t, lampsV2+"/a").body
	calls := h.calls.Load()
	f := w.fork(t)
	if got := f.get(t, lampsV2+"/a").body; string(got) != string(want) || h.calls.Load() != calls {
		t.Errorf("the fork reads %s, after %d more calls", got, h.calls.Load()-calls)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := f.get(t, lampsV2+"/b").want(t, http.StatusOK).object(t); valueAt(got, "spec", "paint") != "red" {
		t.Errorf("the fork reads %v", got)
	}
	f.create(t, lampsV2, lamp("v2", "c", `{"paint":"blue"}`))
}

// In a fork, a definition that waits for a name gets it when the definition with that name is deleted there.
func TestForkResolvesNameConflict(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	crd := gadgets()
	crd.Spec.Names.ShortNames = []string{"wd"}
	define(t, w, crd)
	f := w.fork(t)
	undefine(t, f, "widgets.example.com")
	if got := definitionCondition(t, f, crd.Name, "NamesAccepted") + " " + definitionCondition(t, w, crd.Name,
		"NamesAccepted"); got != "True NoConflicts False ShortNamesConflict" {
		t.Errorf("names accepted in the fork, and in the plane: %s", got)
	}
	f.get(t, "/apis/example.com/v1/gadgets").want(t, http.StatusOK)
	f.get(t, "/apis/example.com/v1/widgets").want(t, http.StatusNotFound)
	w.get(t, "/apis/example.com/v1/widgets").want(t, http.StatusOK)
}

// Forks that are made while definitions change serve the definitions of their own state, not later ones of
// the plane.
func TestForkDuringDefinitionChanges(t *testing.T) {
	t.Parallel()
	const kinds, changes = 4, 25
	w := start(t)
	for i := range kinds {
		crd := widgets()
		crd.Spec.Group = fmt.Sprintf("g%d.example.com", i)
		crd.Name = "widgets." + crd.Spec.Group
		define(t, w, crd)
	}
	var group errgroup.Group
	for i := range kinds {
		group.Go(func() error {
			path := fmt.Sprintf("%s/widgets.g%d.example.com", definitionsPath, i)
			for n := range changes {
				step := fmt.Sprintf(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n","value":{"type":"integer","default":%d}}]`, n)
				r, err := w.try(context.Background(), http.MethodPatch, path, strings.NewReader(step), "Content-Type",
					jsonPatchType)
				if err != nil || r.code != http.StatusOK {
					return fmt.Errorf("%d %s %w", r.code, r.body, err)
				}
			}
			return nil
		})
	}
	group.Go(func() error { // creates and deletes a definition repeatedly
		crd := widgets()
		crd.Spec.Group, crd.Name = "come.example.com", "widgets.come.example.com"
		body, err := jsonOf(crd)
		for n := 0; n < changes && err == nil; n++ {
			if _, err = w.try(context.Background(), http.MethodPost, definitionsPath,
				strings.NewReader(body)); err == nil {
				_, err = w.try(context.Background(), http.MethodDelete, definitionsPath+"/"+crd.Name,
					strings.NewReader(""))
			}
		}
		return err
	})
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for range 10 {
				served(t, w.fork(t), kinds)
			}
		})
	}
	forks.Wait()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// served checks that the default of each kind is that of its definition, and that each kind has a definition.
func served(t *testing.T, f *testPlane, kinds int) {
	defined, listed := f.get(t, definitionsPath+"/widgets.come.example.com").code,
		f.get(t, "/apis/come.example.com/v1/widgets").code
	if defined == http.StatusNotFound && listed != http.StatusNotFound {
		t.Errorf("a kind without a definition is listed: %d", listed)
	}
	for i := range kinds {
		group := fmt.Sprintf("g%d.example.com", i)
		crd := f.get(t, definitionsPath+"/widgets."+group).object(t)
		version := valueAt(crd, "spec", "versions").([]any)[0].(map[string]any)
		want := valueAt(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "n", "default")
		body := strings.Replace(widget("a", `{}`), "example.com", group, 1)
		r, err := f.try(context.Background(), http.MethodPost, "/apis/"+group+"/v1/namespaces/default/widgets",
			strings.NewReader(body))
		if err != nil || r.code != http.StatusCreated {
			t.Errorf("%d %s %v", r.code, r.body, err)
			return
		}
		if got := valueAt(r.object(t), "spec", "n"); got != want {
			t.Errorf("the default is %v, want that of the definition, %v", got, want)
		}
	}
}

// A fork serves kinds in the order of its plane, which discovery shows, without decoding definitions.
func TestForkKeepsOrderOfKinds(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, group := range []string{"z", "a", "m"} {
		crd := widgets()
		crd.Spec.Group, crd.Name = group+".example.com", "widgets."+group+".example.com"
		define(t, w, crd)
	}
	f := w.fork(t)
	if got, want := f.state(t, "/apis", "/openapi/v3"), w.state(t, "/apis", "/openapi/v3"); got != want {
		t.Errorf("the fork serves\n%s\nand its plane\n%s", got, want)
	}
	gvr := schema.GroupVersionResource{Group: "a.example.com", Version: "v1", Resource: "widgets"}
	ours, theirs := must(w.Source().List(t.Context(), gvr, client.Options{}))(t),
		must(f.Source().List(t.Context(), gvr, client.Options{}))(t)
	if ours.Codec == theirs.Codec || ours.Codec.Stamp() != theirs.Codec.Stamp() {
		t.Error("the fork shares its plane's codec, or its codec has another stamp")
	}
}
