package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

func TestNamespacesAtStart(t *testing.T) {
	t.Parallel()
	w := start(t)
	if got, want := w.names(t, "/api/v1/namespaces"), "default kube-node-lease kube-public kube-system"; got != want {
		t.Errorf("a new plane has the namespaces %q, want %q", got, want)
	}
	ns := w.get(t, "/api/v1/namespaces/default").want(t, http.StatusOK).object(t)
	if valueAt(ns, "status", "phase") != "Active" ||
		valueAt(ns, "metadata", "labels", "kubernetes.io/metadata.name") != "default" {
		t.Errorf("default is %v", ns)
	}
}

// A create in a missing namespace is a 404, and in a terminating one a 403, for built-in and custom kinds.
func TestCreateNeedsItsNamespace(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.namespace(t, "going")
	w.createConfigMaps(t, "going", "left")
	w.send(t, http.MethodDelete, "/api/v1/namespaces/going", "").want(t, http.StatusOK)
	if got := valueAt(w.get(t, "/api/v1/namespaces/going").want(t, http.StatusOK).object(t), "status",
		"phase"); got != "Terminating" {
		t.Errorf("a deleted namespace is %v", got)
	}
	for resource, body := range map[string]string{
		"/api/v1/namespaces/%/configmaps":                       `{"metadata":{"name":"a"}}`,
		"/apis/example.com/v1/namespaces/%/widgets":             widget("a", `{}`),
		"/apis/coordination.k8s.io/v1/namespaces/%/leases":      `{"metadata":{"name":"a"}}`,
		"/api/v1/namespaces/%/configmaps?dryRun=All":            `{"metadata":{"name":"a"}}`,
		"/api/v1/namespaces/%/configmaps?fieldManager=somebody": `{"metadata":{"generateName":"a"}}`,
	} {
		w.send(t, http.MethodPost, replace(resource, "nowhere"), body).wantError(t, http.StatusNotFound,
			metav1.StatusReasonNotFound, `namespaces "nowhere" not found`)
		s := w.send(t, http.MethodPost, replace(resource, "going"), body).wantError(t, http.StatusForbidden,
			metav1.StatusReasonForbidden, "because it is being terminated")
		if s.Details == nil || len(s.Details.Causes) != 1 || s.Details.Causes[0].Type != "NamespaceTerminating" {
			t.Errorf("%s: details %+v", resource, s.Details)
		}
	}
	// existing objects can still be changed and deleted, and lists of a missing namespace are empty
	w.send(t, http.MethodPatch, "/api/v1/namespaces/going/configmaps/left", `{"data":{"k":"1"}}`, "Content-Type",
		mergeType).want(t, http.StatusOK)
	w.send(t, http.MethodDelete, "/api/v1/namespaces/going/configmaps/left", "").want(t, http.StatusOK)
	if got := w.names(t, "/api/v1/namespaces/nowhere/configmaps"); got != "" {
		t.Errorf("a missing namespace has %q", got)
	}
	w.get(t, "/api/v1/namespaces/nowhere/configmaps/a").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound,
		`configmaps "a" not found`)
}

// slow is a plugin that delays the creation of a ConfigMap, as a webhook may.
type slow struct{ asked, answer chan struct{} }

func (slow) Name() string { return "Slow" }

func (slow) Handles(op admission.Operation, resource resourceOf, _ string) bool {
	return op == admission.Create && resource.Resource == "configmaps"
}

func (p slow) Admit(ctx, *admission.Attributes, admission.Reader) error {
	p.asked <- struct{}{}
	<-p.answer
	return nil
}

func (slow) Validate(ctx, *admission.Attributes, admission.Reader) error { return nil }

// A create fails if its namespace is deleted during admission. Otherwise the object would be left in a
// namespace that does not exist, and would never be deleted.
func TestCreateRacesWithNamespaceDelete(t *testing.T) {
	t.Parallel()
	p := slow{make(chan struct{}), make(chan struct{})}
	w := start(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{p} })
	finalize := `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ended"},"spec":{}}`
	for name, test := range map[string]struct {
		meanwhile func()
		answer    func(response)
	}{
		"changed": {
			func() {
				w.merge(t, "/api/v1/namespaces/changed", `{"metadata":{"labels":{"a":"b"}}}`).want(t, http.StatusOK)
			},
			func(r response) { r.want(t, http.StatusCreated) },
		},
		"ending": {
			func() { w.send(t, http.MethodDelete, "/api/v1/namespaces/ending", "").want(t, http.StatusOK) },
			func(r response) {
				r.wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden, "because it is being terminated")
			},
		},
		"ended": {
			func() {
				w.send(t, http.MethodDelete, "/api/v1/namespaces/ended", "").want(t, http.StatusOK)
				w.send(t, http.MethodPut, "/api/v1/namespaces/ended/finalize", finalize).want(t, http.StatusOK)
			},
			func(r response) {
				r.wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "ended" not found`)
			},
		},
	} {
		w.namespace(t, name)
		answered := make(chan response, 1)
		go func() {
			a := strings.NewReader(`{"metadata":{"name":"a"}}`)
			r, _ := w.try(t.Context(), http.MethodPost, "/api/v1/namespaces/"+name+"/configmaps", a)
			answered <- r
		}()
		<-p.asked
		test.meanwhile()
		p.answer <- struct{}{}
		test.answer(<-answered)
	}
	if got := w.names(t, "/api/v1/configmaps"); got != "a" {
		t.Errorf("there are %q", got)
	}
}

func replace(path, namespace string) string {
	for i := range path {
		if path[i] == '%' {
			return path[:i] + namespace + path[i+1:]
		}
	}
	return path
}

// The last finalizer of a namespace's spec can only be removed through the subresource finalize.
func TestFinalizeDeletesNamespace(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.namespace(t, "going")
	w.send(t, http.MethodDelete, "/api/v1/namespaces/going", "").want(t, http.StatusOK)
	ns := w.get(t, "/api/v1/namespaces/going").want(t, http.StatusOK).object(t)
	if valueAt(ns, "spec", "finalizers") == nil || valueAt(ns, "metadata", "deletionTimestamp") == nil {
		t.Fatalf("a deleted namespace: %v", ns)
	}
	around := w.send(t, http.MethodPatch, "/api/v1/namespaces/going", `{"spec":{"finalizers":null}}`, "Content-Type",
		mergeType).want(t, http.StatusOK).object(t)
	if valueAt(around, "spec", "finalizers") == nil {
		t.Error("an update of the namespace removed its finalizer")
	}
	w.send(t, http.MethodPut, "/api/v1/namespaces/going/finalize",
		`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"going"},"spec":{}}`).want(t, http.StatusOK)
	w.get(t, "/api/v1/namespaces/going").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound,
		`namespaces "going" not found`)
	w.namespace(t, "going")
}
