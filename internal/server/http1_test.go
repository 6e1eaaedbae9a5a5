package server_test

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// http1 makes the plane's raw requests go over HTTP/1.1, a connection each where they overlap.
func http1(t testing.TB, w *testPlane) *testPlane {
	t.Helper()
	config := must(rest.TLSConfigFor(w.config))(t)
	config.NextProtos = []string{"http/1.1"}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	w.wire = &http.Client{Transport: transport}
	return w
}
