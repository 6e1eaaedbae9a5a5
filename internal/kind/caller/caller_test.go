package caller_test

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// TestCloseClosesConnections checks that Close closes connections, both those in use and those made
// later, with HTTP/1.1 and HTTP/2.
func TestCloseClosesConnections(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requested, answer, closed := make(chan bool), make(chan bool), make(chan bool, 10)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requested <- true
				<-answer
				io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)
			}))
			server.EnableHTTP2 = http2
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					closed <- true
				}
			}
			server.StartTLS()
			t.Cleanup(server.Close)
			c := callerOf(t, server)
			for range 2 {
				failed := make(chan error, 1)
				go func() { failed <- call(t.Context(), c) }()
				<-requested
				c.Close()
				answer <- true
				if err := <-failed; err != nil {
					t.Fatal(err)
				}
				select {
				case <-closed:
				case <-time.After(10 * time.Second): // a third of the idle timeout
					t.Fatal("the connection is still open 10 seconds after Close")
				}
			}
		})
	}
}

// callerOf returns a caller of a server.
func callerOf(t *testing.T, server *httptest.Server) *caller.Caller {
	t.Helper()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := caller.Config{URL: &server.URL, CABundle: bundle, MaxResponse: 1 << 20}
	return caller.New(t.Context(), config, nil, func() (runtime.Codec, error) {
		return caller.Codec([]schema.GroupVersion{admissionv1.SchemeGroupVersion}, admissionv1.AddToScheme)
	})
}

func call(ctx context.Context, c *caller.Caller) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	return client.Post().Body(&admissionv1.AdmissionReview{}).Do(ctx).Into(&admissionv1.AdmissionReview{})
}
