package server_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// as returns a client of the plane's socket with another config.
func (w *testPlane) as(t testing.TB, config *rest.Config) *testPlane {
	t.Helper()
	other := &testPlane{Plane: w.Plane}
	other.connect(t, config)
	return other
}

// Administrators may do everything, other certificates only use the public paths, and requests without a
// certificate are unauthorized.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	admin := startTLS(t)
	admin.createConfigMaps(t, "default", "a")
	somebody := admin.as(t, must(admin.IssueClient("somebody", "a-group"))(t))
	second := admin.as(t, must(admin.IssueClient("second-admin", "system:masters"))(t))
	plain := rest.CopyConfig(admin.config)
	plain.CertData, plain.KeyData = nil, nil
	anonymous := admin.as(t, plain)

	for _, path := range []string{"/livez", "/readyz", "/version", "/healthz"} {
		for name, w := range map[string]*testPlane{"admin": admin, "somebody": somebody, "nobody": anonymous} {
			want := http.StatusOK
			if r := w.get(t, path); r.code != want && !(path == "/healthz" && name != "admin") {
				t.Errorf("%s gets %s: %d %s", name, path, r.code, r.body)
			}
		}
	}
	second.createConfigMaps(t, "default", "b")
	for _, c := range []struct{ method, path, what string }{
		{http.MethodGet, configMaps + "/a",
			`configmaps "a" is forbidden: User "somebody" cannot get resource "configmaps" in API group "" in the namespace "default"`},
		{http.MethodGet, configMaps, `configmaps is forbidden: User "somebody" cannot list resource "configmaps"`},
		{http.MethodGet, configMaps + "?watch=1", `User "somebody" cannot watch resource "configmaps"`},
		{http.MethodGet, configMaps + "?watch=1&fieldSelector=metadata.name%3Da",
			`configmaps "a" is forbidden: User "somebody" cannot watch resource "configmaps"`},
		{http.MethodPost, configMaps, `User "somebody" cannot create resource "configmaps"`},
		{http.MethodDelete, configMaps, `User "somebody" cannot deletecollection resource "configmaps"`},
		{http.MethodPatch, "/apis/apps/v1/namespaces/default/deployments/a/scale",
			`User "somebody" cannot patch resource "deployments/scale" in API group "apps"`},
		{http.MethodGet, "/metrics", `User "somebody" cannot get path "/metrics"`},
		{http.MethodGet, "/debug/pprof/", `User "somebody" cannot get path "/debug/pprof/"`},
		{http.MethodGet, "/api/v1/nothings", `User "somebody" cannot list resource "nothings"`},
	} {
		somebody.send(t, c.method, c.path, `{}`).wantError(t, http.StatusForbidden, metav1.StatusReasonForbidden,
			c.what)
		anonymous.send(t, c.method, c.path, `{}`).wantError(t, http.StatusUnauthorized, metav1.StatusReasonUnauthorized,
			"Unauthorized")
	}
	if got := admin.names(t, configMaps); got != "a b" {
		t.Errorf("the config maps are %q", got)
	}
}

// A certificate of another plane is not accepted.
func TestForeignCertificateIsUnauthorized(t *testing.T) {
	t.Parallel()
	here, other := startTLS(t), startTLS(t)
	stranger := rest.CopyConfig(here.config)
	stranger.CertData, stranger.KeyData = other.config.CertData, other.config.KeyData
	w := here.as(t, stranger)
	if r, err := w.try(t.Context(), http.MethodGet, configMaps, http.NoBody); err == nil &&
		r.code != http.StatusUnauthorized {
		t.Errorf("with a certificate of another plane: %d %s, want 401", r.code, r.body)
	}
}

// A bearer token that the plane did not issue is unauthorized.
func TestBearerTokenIsUnauthorized(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	config := rest.CopyConfig(w.config)
	config.CertData, config.KeyData = nil, nil
	config.BearerToken = "made-up"
	w.as(t, config).get(t, configMaps).wantError(t, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "")
}
