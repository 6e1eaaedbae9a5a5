package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// finishInitialization finishes the initialization of an object.
func finishInitialization(t testing.TB, w *testPlane, path string) {
	t.Helper()
	w.merge(t, path, `{"metadata":{"initializers":null}}`).want(t, http.StatusOK)
}

// A definition is served once it is initialized, also after a restart. One that is deleted before that is
// removed.
func TestDefinitionIsServedAfterInitialization(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	configureInitializers(t, w, "a", "customresourcedefinitions", "first.example.com")
	body := string(must(json.Marshal(widgets()))(t))
	for _, ends := range []bool{true, false} {
		crd := w.send(t, http.MethodPost, definitionsPath+hidden, body).want(t, http.StatusCreated).object(t)
		path := definitionsPath + "/" + valueAt(crd, "metadata", "name").(string)
		for range 2 {
			w.get(t, widgetsPath).want(t, http.StatusNotFound)
			if conditions := valueAt(w.get(t, path).object(t), "status", "conditions"); conditions != nil {
				t.Errorf("it has conditions: %v", conditions)
			}
			w = w.restart(t, journal)
		}
		if ends {
			finishInitialization(t, w, path)
			w.get(t, widgetsPath).want(t, http.StatusOK)
		}
		w.send(t, http.MethodDelete, path, "").want(t, http.StatusOK)
		w.get(t, path).want(t, http.StatusNotFound)
	}
}

// The server's own decisions ignore uninitialized classes and budgets.
func TestUninitializedObjectsHaveNoEffect(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "*", "first.example.com")
	const (
		classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
		class   = `{"metadata":{"name":"high"},"value":7,"globalDefault":true}`
		budget  = `{"metadata":{"name":"all"},"spec":{"selector":{"matchLabels":{"app":"web"}},"minAvailable":9}}`
		pod     = `{"metadata":{"generateName":"p-","initializers":{"pending":[]},"labels":{"app":"web"}},
			"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`
		ready = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	)
	w.send(t, http.MethodPost, classes+hidden, class).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, budgetsPath+hidden, budget).want(t, http.StatusCreated)
	for _, c := range []struct {
		priority float64
		evicted  int
	}{{0, http.StatusCreated}, {7, http.StatusTooManyRequests}} {
		made := w.send(t, http.MethodPost, podsPath, pod).want(t, http.StatusCreated).object(t)
		if got := valueAt(made, "spec", "priority"); got != c.priority {
			t.Errorf("the priority is %v, not %v", got, c.priority)
		}
		name := valueAt(made, "metadata", "name").(string)
		w.merge(t, podsPath+"/"+name+"/status", ready).want(t, http.StatusOK)
		evict(t, w, name, "").want(t, c.evicted)
		finishInitialization(t, w, classes+"/high")
		finishInitialization(t, w, budgetsPath+"/all")
	}
}

// The server does not find uninitialized objects by name: a pod's class, a webhook's Service.
func TestUninitializedObjectsAreNotReferenced(t *testing.T) {
	t.Parallel()
	const (
		classes  = "/apis/scheduling.k8s.io/v1/priorityclasses"
		services = "/api/v1/namespaces/default/services"
		pod      = `{"metadata":{"name":"p"},"spec":{"priorityClassName":"high","containers":[{"name":"c","image":"i"}]}}`
	)
	w := start(t)
	configureInitializers(t, w, "a", "priorityclasses", "first.example.com")
	configureInitializers(t, w, "b", "services", "first.example.com")
	w.send(t, http.MethodPost, classes+hidden, `{"metadata":{"name":"high"},"value":7}`).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, podsPath, pod).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
		"no PriorityClass with name high was found")
	finishInitialization(t, w, classes+"/high")
	w.send(t, http.MethodPost, podsPath, pod).want(t, http.StatusCreated)

	g, authority := startWebhookAs(t, "hook.default.svc")
	registerWebhook(t, w, validatingPath, "v", g, `"clientConfig":`+g.byService(t, authority))
	const service = `{"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"localhost"}}`
	w.send(t, http.MethodPost, services+hidden, service).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusInternalServerError,
		metav1.StatusReasonInternalError, `service "hook" not found`)
	finishInitialization(t, w, services+"/hook")
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
}

// Initializers of a namespace can create objects in it.
func TestUninitializedNamespaceAcceptsObjects(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "namespaces", "first.example.com")
	w.send(t, http.MethodPost, "/api/v1/namespaces"+hidden, `{"metadata":{"name":"new"}}`).want(t, http.StatusCreated)
	w.send(t, http.MethodPost, "/api/v1/namespaces/new/configmaps", `{"metadata":{"name":"a"}}`).want(t,
		http.StatusCreated)
	finishInitialization(t, w, "/api/v1/namespaces/new")
	w.get(t, "/api/v1/namespaces/new/configmaps/a").want(t, http.StatusOK)
}
