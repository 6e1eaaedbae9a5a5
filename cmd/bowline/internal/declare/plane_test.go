package declare_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`

var widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func startPlane(t *testing.T) *rest.Config {
	t.Helper()
	plane, err := bowline.Start(t.Context(), bowline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	return plane.RESTConfig()
}

// apply applies all documents of the text and returns the objects as stored by the server.
func apply(t *testing.T, config *rest.Config, text string) []declare.Applied {
	t.Helper()
	applier, err := declare.NewApplier(t.Context(), config, func(about manifest.Source, text string) {
		t.Errorf("%s: got warning %q, want none", about, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	documents, failures := manifest.Parse("f.yaml", []byte(text))
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	var all []declare.Applied
	for _, document := range documents {
		applied, err := applier.Apply(document)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, applied)
	}
	return all
}

// recordingReporter is a Reporter that sends each report to a channel.
type recordingReporter struct{ reports chan string }

func (w recordingReporter) Ready(a declare.Applied, t declare.Readiness) {
	w.reports <- a.Name() + " " + t.State
}
func (w recordingReporter) NotReady(a declare.Applied, t declare.Readiness) {
	w.reports <- a.Name() + " not " + t.Reason
}
func (w recordingReporter) Deleted(a declare.Applied) { w.reports <- a.Name() + " deleted" }
func (w recordingReporter) StillWaiting(waiting []declare.Applied) {
	w.reports <- fmt.Sprint(len(waiting), " left")
}

// watch watches in the background. It closes the returned channel when the watch ends.
func watch(t *testing.T, config *rest.Config, objects []declare.Applied, progress time.Duration) <-chan string {
	t.Helper()
	w := recordingReporter{reports: make(chan string, 16)}
	controlled := func(kind schema.GroupKind) bool { return kind.Kind == "Widget" }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.reports)
		if err := declare.Watch(ctx, config, objects, controlled, progress, w); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w.reports
}

func expect(t *testing.T, reported <-chan string, want ...string) {
	t.Helper()
	for _, line := range want {
		if got := <-reported; got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
}

func TestWatchReportsReadyWhenConditionIsTrue(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	objects := apply(t, config, widgets+"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
	reported := watch(t, config, objects, time.Hour)
	// The response to a create does not contain the condition Established yet.
	expect(t, reported, "configmap/default/c stored",
		"customresourcedefinition.apiextensions.k8s.io/widgets.example.com Established")

	client := dynamic.NewForConfigOrDie(config).Resource(widgetResource).Namespace("default")
	say := func(status, reason string) {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q}]}}`, status, reason)
		if _, err := client.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{},
			"status"); err != nil {
			t.Fatal(err)
		}
	}
	say("False", "Waiting")
	expect(t, reported, "widget.example.com/default/a not Waiting")
	say("True", "Done")
	expect(t, reported, "widget.example.com/default/a Ready")
	if more, ok := <-reported; ok {
		t.Errorf("got report %q after all objects are ready, want none", more)
	}
}

func TestWatchDoesNotWaitForDeletedObjects(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	objects := apply(t, config, widgets+"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: before}\n---\n"+
		"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: later}\n")
	client := dynamic.NewForConfigOrDie(config).Resource(widgetResource).Namespace("default")
	remove := func(name string) {
		if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove("before")
	reported := watch(t, config, objects[1:], time.Hour)
	expect(t, reported, "widget.example.com/default/before deleted")
	remove("later")
	expect(t, reported, "widget.example.com/default/later deleted")
}

func TestWatchReportsLongWaits(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	objects := apply(t, config, widgets+"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n")
	expect(t, watch(t, config, objects[1:], time.Millisecond), "1 left", "1 left")
}

func TestApplyPreservesFieldsOfOtherWriters(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	client := dynamic.NewForConfigOrDie(config)
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	document := func(data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: " + data + "\n"
	}
	apply(t, config, document(`{gone: x, mine: first}`))
	theirs := []byte(`{"data":{"theirs":"kept"}}`)
	if _, err := maps.Patch(t.Context(), "c", types.MergePatchType, theirs, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	first := apply(t, config, document(`{mine: second}`))[0].Object
	data, _, err := unstructured.NestedStringMap(first.Object, "data")
	if err != nil || len(data) != 2 || data["mine"] != "second" || data["theirs"] != "kept" {
		t.Errorf("got data %v (%v), want mine=second and theirs=kept", data, err)
	}
	second := apply(t, config, document(`{mine: second}`))[0].Object
	if second.GetResourceVersion() != first.GetResourceVersion() {
		t.Error("got a new revision, want none for an unchanged object")
	}
}

func TestRejectedObjectReportsLocation(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	applier, err := declare.NewApplier(t.Context(), config, func(manifest.Source, string) {})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\n":         `f.yaml:1: no matches for kind "Gadget"`,
		"apiVersion: v1\nkind: ConfigMap\n":                                       "f.yaml:1: metadata.name is required",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n":         "generateName would create another object",
		"\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatum: {}\n":     `f.yaml:2: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "datum"`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: none}\n": `namespaces "none" not found`,
	} {
		documents, _ := manifest.Parse("f.yaml", []byte(text))
		_, err := applier.Apply(documents[0])
		var failure *declare.Error
		if !errors.As(err, &failure) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestEachApplyReportsWarningWithLocation(t *testing.T) {
	t.Parallel()
	config := startPlane(t)
	var warnings []string
	applier, err := declare.NewApplier(t.Context(), config, func(about manifest.Source, text string) {
		warnings = append(warnings, about.String()+": "+text[:len("apiextensions.k8s.io/v1beta1")])
	})
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(widgets, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", 1)
	old = old[:strings.Index(old, "  versions:")] + "  version: v1\n"
	for range 2 {
		documents, _ := manifest.Parse("f.yaml", []byte(old))
		if _, err := applier.Apply(documents[0]); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"f.yaml:2: apiextensions.k8s.io/v1beta1",
		"f.yaml:2: apiextensions.k8s.io/v1beta1"}; !slices.Equal(warnings, want) {
		t.Errorf("got warnings %q, want %q", warnings, want)
	}
}

// Canceling the context ends an apply to a server that does not answer.
func TestApplyEndsWithContext(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		case <-r.Context().Done():
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	applier, err := declare.NewApplier(ctx, &rest.Config{Host: server.URL}, func(manifest.Source, string) {})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-arrived
		cancel()
	}()
	documents, _ := manifest.Parse("f.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	if _, err := applier.Apply(documents[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
