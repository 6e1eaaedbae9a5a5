package garbagecollector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// definitionOf returns a definition of widgets that serves the given versions, out of v1 and v2. The last of
// them is the storage version; v2 is preferred.
func definitionOf(served ...string) string {
	var versions []string
	for _, version := range []string{"v1", "v2"} {
		versions = append(versions,
			fmt.Sprintf("{name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object}}}",
				version, slices.Contains(served, version), version == served[len(served)-1]))
	}
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {
		group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget},
		versions: [` + strings.Join(versions, ", ") + `]}}`
}

// hub creates a widget and a ConfigMap that the widget owns, by references of a version.
func (w *fixture) hub(version, name string) {
	w.Helper()
	made := w.plane.Apply(w, fmt.Sprintf("{apiVersion: example.com/%s, kind: Widget, metadata: {name: %s}}", version,
		name))
	w.plane.Apply(w, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: of-%[2]s, ownerReferences: [
		{apiVersion: example.com/%[1]s, kind: Widget, name: %[2]s, uid: %[3]s}]}}`, version, name, made[0].GetUID()))
}

// removeWidget deletes a widget by way of a version.
func (w *fixture) removeWidget(version, name string) {
	w.Helper()
	at := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}
	err := client.Of[*metav1.PartialObjectMetadata](w.client, at).Delete(w.Context(), "default", name,
		metav1.DeleteOptions{})
	if err != nil {
		w.Fatal(err)
	}
}

// A deletion during a change of the served version is missed by the caches of both versions.
func TestDeletionsDuringVersionChangesAreObserved(t *testing.T) {
	t.Parallel()
	for _, versions := range [][]string{{"v1", "v2"}, {"v2"}} {
		t.Run(strings.Join(versions, " and "), func(t *testing.T) {
			t.Parallel()
			runFixture(t, func(w *fixture) {
				w.plane.Apply(w, definitionOf("v1"))
				time.Sleep(time.Minute)
				w.hub("v1", "hub")
				w.hub("v1", "kept")
				time.Sleep(time.Minute)
				w.way.hold("/apis/example.com/v1/widgets")
				w.removeWidget("v1", "hub")
				w.plane.Apply(w, definitionOf(versions...))
				time.Sleep(10 * time.Minute)
				w.expect(false, "configmap/of-hub")
				w.expect(true, "widget/kept", "configmap/of-kept")
				w.removeWidget("v2", "kept")
				time.Sleep(time.Minute)
				w.expect(false, "configmap/of-kept")
			})
		})
	}
}

// Objects of a version that is no longer served still exist.
func TestDependentsStayWhenTheOwnersVersionIsRemoved(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		w.plane.Apply(w, definitionOf("v1"))
		time.Sleep(time.Minute)
		release := w.way.hold("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
		w.plane.Apply(w, definitionOf("v2"))
		w.hub("v2", "hub")
		time.Sleep(time.Minute)
		w.expect(true, "widget/hub", "configmap/of-hub")
		release()
		time.Sleep(10 * time.Minute)
		w.expect(true, "widget/hub", "configmap/of-hub")
		w.removeWidget("v2", "hub")
		time.Sleep(time.Minute)
		w.expect(false, "configmap/of-hub")
	})
}

// Dependents are orphaned although the version in which the collector wants to write them stops being served.
func TestOrphaningSurvivesVersionRemoval(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		w.plane.Apply(w, definitionOf("v1"))
		time.Sleep(time.Minute)
		owner := w.configMap("leaves", nil)
		w.plane.Apply(w, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: left, namespace: default,
			ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: leaves, uid: `+string(owner.UID)+`}]}}`)
		time.Sleep(time.Minute)
		met, release := w.way.halt("PATCH /apis/example.com/v1/namespaces/default/widgets/left")
		w.remove("leaves", orphan)
		<-met
		w.plane.Apply(w, definitionOf("v2"))
		time.Sleep(time.Second)
		release()
		time.Sleep(10 * time.Minute)
		w.expectFree("widget/left")
		w.expect(false, "configmap/leaves")
	})
}

// An object whose own kind is removed stops waiting for the kinds of its owners; one that moves to another
// version keeps waiting.
func TestRemovedKindsStopWaitingForOwnerKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		goes func(w *fixture)
		want int
	}{
		"kind removed":     {func(w *fixture) { w.undefine() }, 0},
		"version replaced": {func(w *fixture) { w.plane.Apply(w, definitionOf("v2")) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runFixture(t, func(w *fixture) {
				w.plane.Apply(w, definitionOf("v1"))
				time.Sleep(time.Minute)
				w.plane.Apply(w, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: waits, namespace: default,
					ownerReferences: [{apiVersion: example.com/v1, kind: Gizmo, name: g, uid: g}]}}`)
				time.Sleep(time.Minute)
				if waiting := w.waiting(); waiting != 1 {
					t.Fatalf("before the definition changes: got %d waiting objects, want 1", waiting)
				}
				w.way.hold("/apis/example.com/v1/widgets")
				c.goes(w)
				time.Sleep(10 * time.Minute)
				if waiting := w.waiting(); waiting != c.want {
					t.Errorf("got %d waiting objects, want %d", waiting, c.want)
				}
			})
		})
	}
}

// undefine deletes the definition of widgets.
func (w *fixture) undefine() {
	w.Helper()
	at := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	all := client.Of[*metav1.PartialObjectMetadata](w.client, at)
	if err := all.Delete(w.Context(), "", "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}
