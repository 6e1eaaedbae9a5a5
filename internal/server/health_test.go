package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth"
)

// The answers of health checks are those of Kubernetes, to the letter (k8s.io/apiserver/pkg/server/healthz).
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *bowline.Options) { o.Controllers = nil })
	for path, want := range map[string]string{
		"/healthz":                     "ok",
		"/livez":                       "ok",
		"/readyz":                      "ok",
		"/readyz/":                     "ok",
		"/livez?verbose":               "[+]ping ok\n[+]store ok\nlivez check passed\n",
		"/healthz?verbose=1":           "[+]ping ok\n[+]store ok\nhealthz check passed\n",
		"/readyz?verbose":              "[+]ping ok\n[+]store ok\n[+]controllers ok\n[+]shutdown ok\nreadyz check passed\n",
		"/livez?exclude=store":         "ok",
		"/livez/ping":                  "ok",
		"/readyz/controllers":          "ok",
		"/livez?verbose&exclude=store": "[+]ping ok\n[+]store excluded: ok\nlivez check passed\n",
		"/livez?verbose&exclude=etcd&exclude=a&exclude=etcd": "[+]ping ok\n[+]store ok\n" +
			"warn: some health checks cannot be excluded: no matches for \"a\",\"etcd\"\nlivez check passed\n",
	} {
		r := w.get(t, path).want(t, http.StatusOK)
		if string(r.body) != want {
			t.Errorf("%s was answered %q, want %q", path, r.body, want)
		}
		if kind := r.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%s is %s", path, kind)
		}
	}
	w.get(t, "/livez/controllers").want(t, http.StatusNotFound) // only /readyz asks that
	w.get(t, "/livez/none").want(t, http.StatusNotFound)
	w.get(t, "/livez/ping/more").want(t, http.StatusNotFound)
}

// A failing check is a 500 without the reason, which only the path of the single check shows.
func TestFailedHealthCheckWithholdsReason(t *testing.T) {
	t.Parallel()
	w := start(t)
	handler := w.Handler()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/livez":           "[+]ping ok\n[-]store failed: reason withheld\nlivez check failed\n",
		"/readyz":          "[+]ping ok\n[-]store failed: reason withheld\n[+]controllers ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n",
		"/livez/store":     "internal server error: the store is closed\n",
		"/readyz/shutdown": "internal server error: the server is stopping\n",
	} {
		r := ask(t, handler, path)
		if r.code != http.StatusInternalServerError || string(r.body) != want {
			t.Errorf("%s: %d %q, want %q", path, r.code, r.body, want)
		}
	}
	if r := ask(t, handler, "/livez?exclude=store"); r.code != http.StatusOK {
		t.Errorf("without the check that fails: %d %s", r.code, r.body)
	}
}

// The endpoints are public, as in Kubernetes' role system:public-info-viewer; the paths below them are not.
// Profiles are for administrators.
func TestIndividualHealthChecksNeedAuthorization(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	plain := rest.CopyConfig(w.config)
	plain.CertData, plain.KeyData = nil, nil
	anonymous := w.as(t, plain)
	somebody := w.as(t, must(w.IssueClient("somebody"))(t))
	anonymous.get(t, "/livez?verbose").want(t, http.StatusOK)
	anonymous.get(t, "/livez/ping").want(t, http.StatusUnauthorized)
	for _, path := range []string{"/livez/ping", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline",
		"/metrics"} {
		somebody.get(t, path).want(t, http.StatusForbidden)
		w.get(t, path).want(t, http.StatusOK)
	}
}

// ask calls a handler as the administrator.
func ask(t *testing.T, handler http.Handler, path string) response {
	t.Helper()
	admin := auth.WithUser(t.Context(), auth.NewUser("admin", auth.AdminGroup))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil).WithContext(admin))
	return response{code: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// The paths of go tool pprof and go tool trace record profiles for the requested time.
func TestProfiles(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1",
		"/debug/pprof/goroutine?debug=1"} {
		if body := w.get(t, path).want(t, http.StatusOK).body; len(body) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
}
