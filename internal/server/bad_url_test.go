package server_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An object whose name or namespace is not that of the URL is refused.
func TestObjectMustMatchURL(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	for _, c := range []struct{ method, path, body, text string }{
		{http.MethodPost, configMaps, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}`,
			"Secret in version \"v1\" cannot be handled as a ConfigMap"},
		{http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"x"}}`,
			"does not match the expected API version (v1)"},
		{http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"x"}}`,
			"does not match the expected API version (v1)"},
		{http.MethodPost, configMaps, `{"metadata":{"name":"x","namespace":"kube-system"}}`,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{http.MethodPut, configMaps + "/a", `{"metadata":{"name":"b"}}`,
			"the name of the object (b) does not match the name on the URL (a)"},
		{http.MethodPut, configMaps + "/a", `{"metadata":{"name":"a","namespace":"kube-system"}}`,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{http.MethodPost, "/apis/apps/v1/namespaces/default/deployments",
			`{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"x"}}`,
			"cannot be handled as a Deployment"},
		{http.MethodPost, widgetsPath, `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"x"}}`,
			"Gadget"},
		{http.MethodPost, widgetsPath, `{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"x"}}`,
			"example.com/v2"},
		{http.MethodPut, widgetsPath + "/a", widget("b", `{}`),
			"the name of the object (b) does not match the name on the URL (a)"},
		{http.MethodPut, configMaps + "/a", `{"metadata":{}}`,
			"the name of the object (a based on URL) was undeterminable: name must be provided"},
		{http.MethodPatch, widgetsPath + "/a/scale", `{"metadata":{"name":"b"}}`,
			"the name of the object (b) does not match the name on the URL (a)"},
	} {
		r := w.send(t, c.method, c.path, c.body, "Content-Type", patchTypeFor(c.method))
		if r.code != http.StatusBadRequest && r.code != http.StatusUnprocessableEntity {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.code, r.body)
			continue
		}
		var s metav1.Status
		r.into(t, &s)
		r.wantError(t, r.code, s.Reason, c.text)
	}
	created := w.create(t, "/api/v1/nodes", `{"metadata":{"name":"x","namespace":"default"}}`)
	if got := valueAt(created, "metadata", "namespace"); got != nil {
		t.Errorf("a node is in namespace %v", got)
	}
}

// Unknown paths are 404s, and unsupported methods 405s: Statuses if the group is known.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	for _, path := range []string{
		"/api/v1/nothings", "/api/v1/namespaces/default/nothings", "/api/v1/namespaces/default/nothings/a",
		"/api/v2/pods", "/api/v2",
		"/apis/apps/v1/namespaces/default/pods", "/apis/apps/v9", "/apis/apps/v9/deployments",
		"/api/v1/namespaces/default/pods/a/nothing", "/api/v1/watch/nothings",
		"/api/v1/configmaps/a", "/api/v1/watch/configmaps/a", "/api/v1/namespaces/default/nodes",
		"/api/v1/namespaces/default/nodes/a",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete} {
			r := w.send(t, method, path, `{}`)
			if r.code != http.StatusNotFound && !(r.code == http.StatusMethodNotAllowed && method != http.MethodGet) {
				t.Errorf("%s %s: %d %s", method, path, r.code, r.body)
			}
			if method == http.MethodGet {
				r.wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound,
					"the server could not find the requested resource")
			}
		}
	}
	for _, path := range []string{"/nothing", "/apis/nothing.example.com", "/apis/nothing.example.com/v1",
		"/apis/nothing.example.com/v1/things", "/openapi/v9", "/apiss", "/api/"} {
		want := http.StatusNotFound
		if path == "/api/" {
			want = http.StatusOK
		}
		w.get(t, path).want(t, want)
	}
	for _, c := range []struct{ method, path string }{
		{http.MethodPut, configMaps}, {http.MethodPatch, configMaps}, {http.MethodPost, configMaps + "/a"},
		{"BREW", configMaps}, {http.MethodPost, "/api/v1/configmaps"},
		{http.MethodDelete, "/api/v1/configmaps"}, {http.MethodGet, "/api/v1/namespaces/default/pods/a/binding"},
		{http.MethodDelete, "/api/v1/namespaces"},
	} {
		w.send(t, c.method, c.path, `{}`).wantError(t, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"the server does not allow this method on the requested resource")
	}
}
