package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// slow is a plugin that delays the creation of a ConfigMap, as a webhook may.
type slow struct{ called, answer chan struct{} }

func (slow) Name() string { return "Slow" }

func (slow) Handles(op admission.Operation, resource resourceOf, _ string) bool {
	return op == admission.Create && resource.Resource == "configmaps"
}

func (p slow) Admit(ctx, *admission.Attributes, admission.Reader) error {
	p.called <- struct{}{}
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
		<-p.called
		test.meanwhile()
		p.answer <- struct{}{}
		test.answer(<-answered)
	}
	if got := w.names(t, "/api/v1/configmaps"); got != "a" {
		t.Errorf("there are %q", got)
	}
}

// A system namespace that was deleted is created again, with another uid.
func TestSystemNamespaceIsCreatedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		namespaces := w.clients.CoreV1().Namespaces()
		for _, name := range []string{"kube-node-lease", "kube-node-lease"} {
			before := must(namespaces.Get(t.Context(), name, metav1.GetOptions{}))(t)
			w.send(t, http.MethodDelete, "/api/v1/namespaces/"+name, "").want(t, http.StatusOK)
			synctest.Wait()
			if ending := must(namespaces.Get(t.Context(), name, metav1.GetOptions{}))(t); ending.UID != before.UID {
				t.Errorf("%s was replaced before it was gone", name)
			}
			w.send(t, http.MethodPut, "/api/v1/namespaces/"+name+"/finalize", `{"kind":"Namespace","apiVersion":"v1",`+
				`"metadata":{"name":"`+name+`"},"spec":{}}`).want(t, http.StatusOK)
			synctest.Wait()
			after := must(namespaces.Get(t.Context(), name, metav1.GetOptions{}))(t)
			if after.UID == before.UID || after.DeletionTimestamp != nil {
				t.Errorf("%s has the uid %s, before its deletion %s; deletion timestamp %s", name, after.UID, before.UID,
					after.DeletionTimestamp)
			}
		}
	})
}

// A plane that does not create initial objects does not create them again.
func TestDeletedNamespaceWithoutBootstrap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(o *bowline.Options) { o.SkipBootstrap = true })
		const path = "/api/v1/namespaces/kube-node-lease"
		w.create(t, "/api/v1/namespaces", `{"metadata":{"name":"kube-node-lease"}}`)
		w.send(t, http.MethodDelete, path, "").want(t, http.StatusOK)
		w.send(t, http.MethodPut, path+"/finalize", `{"kind":"Namespace","apiVersion":"v1","metadata":`+
			`{"name":"kube-node-lease"},"spec":{}}`).want(t, http.StatusOK)
		synctest.Wait()
		w.get(t, path).want(t, http.StatusNotFound)
	})
}
