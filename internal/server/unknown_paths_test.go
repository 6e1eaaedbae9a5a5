package server_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
