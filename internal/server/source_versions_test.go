package server_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// In-process informers receive custom resources in the requested version, like clients over HTTP, and their
// watches end when the definition changes.
func TestSourceConvertsToRequestedVersion(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	lamps := schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "lamps"}
	list := must(w.Source().List(t.Context(), lamps, client.Options{}))(t)
	if len(list.Items) != 1 || list.Items[0].Fields["spec.paint"] != "red" || list.Items[0].Labels["shown"] != "v2" {
		t.Fatalf("listed %+v", list.Items)
	}
	obj := must(list.Items[0].Decoded(list.Codec))(t).(*unstructured.Unstructured)
	if obj.GetAPIVersion() != "example.com/v2" || valueAt(obj.Object, "spec", "paint") != "red" {
		t.Errorf("listed %v", obj.Object)
	}
	watch := must(w.Source().Watch(t.Context(), lamps, client.Options{After: list.Revision}))(t)
	defer watch.Stop()
	w.send(t, http.MethodPatch, lampsV1+"/a", `{"spec":{"color":"blue"}}`, "Content-Type", mergeType).want(t,
		http.StatusOK)
	w.send(t, http.MethodPatch, definitionsPath+"/lamps.example.com",
		`{"spec":{"names":{"kind":"Lamp","plural":"lamps","singular":"lamp","listKind":"LampList","shortNames":["lp"]}}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	events := must(watch.Next(t.Context()))(t)
	if len(events) != 1 || events[0].Object.Fields["spec.paint"] != "blue" {
		t.Errorf("watched %+v", events)
	}
	if _, err := watch.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("a watch of a definition that changed ends with %v", err)
	}
}

// An in-process watch that cannot convert an event fails such that its reader lists again.
func TestSourceWatchExpiresOnConversionError(t *testing.T) {
	t.Parallel()
	w, h := start(t), startConversionWebhook(t)
	define(t, w, h.lamps(t))
	lamps := schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "lamps"}
	list := must(w.Source().List(t.Context(), lamps, client.Options{}))(t)
	watch := must(w.Source().Watch(t.Context(), lamps, client.Options{After: list.Revision}))(t)
	defer watch.Stop()
	h.answer = func(_ *apiextensionsv1.ConversionReview, w http.ResponseWriter) {
		http.Error(w, "no", http.StatusTeapot)
	}
	w.create(t, lampsV1, lamp("v1", "a", `{"color":"red"}`))
	if events, err := watch.Next(t.Context()); !apierrors.IsResourceExpired(err) {
		t.Errorf("the watch yields %v, %v", events, err)
	}
}

// When a name is released, another definition that waited for it is served at once.
func TestReleasedNameIsAcceptedElsewhere(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	crd := gadgets()
	crd.Spec.Names.Kind, crd.Spec.Names.ShortNames = "Gadget", []string{"wd"}
	define(t, w, crd)
	if got := definitionCondition(t, w, crd.Name, "NamesAccepted"); got != "False ShortNamesConflict" {
		t.Fatalf("names accepted: %s", got)
	}
	w.send(t, http.MethodPatch, definitionsPath+"/widgets.example.com",
		`{"spec":{"names":{"kind":"Widget","plural":"widgets","singular":"widget","listKind":"WidgetList","shortNames":["wi"]}}}`, "Content-Type", mergeType).want(t, http.StatusOK)
	if got := definitionCondition(t, w, crd.Name, "NamesAccepted") + ", " + definitionCondition(t, w, crd.Name,
		"Established"); got != "True NoConflicts, True InitialNamesAccepted" {
		t.Errorf("names accepted, established: %s", got)
	}
	w.get(t, "/apis/example.com/v1/namespaces/default/gadgets").want(t, http.StatusOK)
}
