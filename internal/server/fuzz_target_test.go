package server_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/auth"
)

// target is a plane to which fuzz tests send requests without a transport.
type target struct {
	*testPlane
	handler http.Handler
}

func fuzzTarget(f *testing.F) *target {
	f.Helper()
	w := start(f)
	define(f, w, widgets())
	w.create(f, widgetsPath, widget("a", `{"size":1,"free":{"k":[1,{"l":null}]}}`))
	w.create(f, configMaps, `{"metadata":{"name":"a","labels":{"app":"web","tier":"front"}},"data":{"k":"1"}}`)
	w.create(f, configMaps, `{"metadata":{"name":"b","labels":{"app":"db"}}}`)
	w.create(f, configMaps, `{"metadata":{"name":"c"}}`)
	w.create(f, "/api/v1/namespaces/default/pods",
		`{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	w.create(f, deployments, deploymentBody("a"))
	w.create(f, "/api/v1/namespaces/default/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`)
	return &target{w, w.Handler()}
}

// recorded records an answer. A watch ends as soon as it has begun.
type recorded struct {
	code   int
	header http.Header
	body   bytes.Buffer
	end    context.CancelFunc
}

func (r *recorded) Header() http.Header { return r.header }
func (r *recorded) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}
func (r *recorded) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}
func (r *recorded) Flush() { r.end() }

// ask sends a request as the administrator. It fails the test on a panic, on a 500 that Kubernetes would not answer,
// and on an answer that is far longer than the body.
func (g *target) ask(t *testing.T, method string, u *url.URL, contentType string, body []byte) *recorded {
	t.Helper()
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	r := g.send(t, method, u, h, body)
	if r.code == http.StatusInternalServerError && !knownFailure(contentType, r.body.String()) {
		t.Errorf("%s %s %s %q: %s", method, u, contentType, body, r.body.String())
	}
	if most := 1<<20 + 64*len(body); method != http.MethodGet && r.body.Len() > most {
		t.Errorf("%s %s %s %q: the answer has %d bytes, more than %d", method, u, contentType, body, r.body.Len(), most)
	}
	return r
}

// send sends a request as the administrator.
func (g *target) send(t *testing.T, method string, u *url.URL, h http.Header, body []byte) *recorded {
	t.Helper()
	ctx, cancel := context.WithCancel(auth.WithUser(t.Context(), auth.NewUser("fuzz", auth.AdminGroup)))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://fuzz/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL, req.Header = u, h
	r := &recorded{header: http.Header{}, end: cancel}
	g.handler.ServeHTTP(r, req)
	if r.code == 0 {
		t.Errorf("%s %s was not answered", method, u)
	}
	return r
}

// knownFailure reports whether Kubernetes answers with a 500, too.
func knownFailure(contentType, body string) bool {
	// Any fault of the library, which Kubernetes uses as well.
	if contentType == strategicType {
		return !strings.Contains(body, "panicked")
	}
	for _, text := range []string{
		"resourceVersion should not be set on objects to be created",
		`"resourceVersion: Invalid value`, // a watch from a revision that is no number
		`"strconv.ParseUint: parsing`,     // an update of a revision that is no number
		"the spec replicas field",         // the scale of an object that has none
	} {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// alive ends the test if the server no longer works.
func (g *target) alive(t *testing.T) {
	t.Helper()
	r := g.ask(t, http.MethodGet, &url.URL{Path: configMaps + "/a"}, "", nil)
	if r.code != http.StatusOK {
		t.Fatalf("the server no longer answers: %d %s", r.code, r.body.String())
	}
}
