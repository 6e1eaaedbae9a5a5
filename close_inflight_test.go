package bowline

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/admission"
)

// TestCloseCutsOffPendingRequests checks that Close cuts off requests that do not end in time and waits for
// their handlers.
func TestCloseCutsOffPendingRequests(t *testing.T) {
	t.Parallel()
	plugin := &holding{entered: make(chan struct{})}
	plane, err := Start(t.Context(), Options{Listen: "127.0.0.1:0", Controllers: []string{NoControllers},
		Plugins: []admission.Plugin{plugin}})
	if err != nil {
		t.Fatal(err)
	}
	plane.drain = 50 * time.Millisecond
	config, err := plane.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		response, err := (&http.Client{Transport: transport}).Post(config.Host+"/api/v1/namespaces/default/configmaps",
			"application/json", strings.NewReader(`{"metadata":{"name":"a"}}`))
		if err == nil {
			response.Body.Close()
		}
		answered <- err
	}()
	<-plugin.entered
	if err := plane.Close(); err != nil {
		t.Error(err)
	}
	if !plugin.left.Load() {
		t.Error("Close returned before the request's handler")
	}
	if err := <-answered; err == nil {
		t.Error("a request that was cut off has an answer")
	}
}

// TestCloseLeavesStuckRequests checks that Close over a socket names a request whose handler ignores its context.
func TestCloseLeavesStuckRequests(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/1.1", "h2"} {
		plugin := &ignoring{entered: make(chan struct{}), release: make(chan struct{})}
		plane, err := Start(t.Context(), Options{Listen: "127.0.0.1:0", Controllers: []string{NoControllers},
			Plugins: []admission.Plugin{plugin}})
		if err != nil {
			t.Fatal(err)
		}
		plane.drain, plane.cancelWait = 50*time.Millisecond, 50*time.Millisecond
		config, err := plane.SocketConfig()
		if err != nil {
			t.Fatal(err)
		}
		config.NextProtos = []string{protocol}
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			response, err := (&http.Client{Transport: transport}).Post(config.Host+
				"/api/v1/namespaces/default/configmaps", "application/json",
				strings.NewReader(`{"metadata":{"name":"a"}}`))
			if err == nil {
				response.Body.Close()
			}
		}()
		<-plugin.entered
		if err := plane.Close(); err == nil ||
			!strings.Contains(err.Error(), "requests do not end: POST /api/v1/namespaces/default/configmaps (for ") {
			t.Errorf("%s: got error %v, want one that names the request", protocol, err)
		}
		close(plugin.release) // TestMain checks that its goroutine ends
	}
}

// ignoring is a plugin that blocks creates of ConfigMaps until release is closed.
type ignoring struct{ entered, release chan struct{} }

func (*ignoring) Name() string { return "Ignoring" }
func (*ignoring) Handles(_ admission.Operation, r schema.GroupResource, _ string) bool {
	return r.Resource == "configmaps"
}
func (i *ignoring) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	close(i.entered)
	<-i.release
	return nil
}
func (*ignoring) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// holding is a plugin that blocks writes of ConfigMaps until their requests end.
type holding struct {
	entered chan struct{}
	left    atomic.Bool
}

func (*holding) Name() string { return "Holding" }
func (*holding) Handles(_ admission.Operation, r schema.GroupResource, _ string) bool {
	return r.Resource == "configmaps"
}
func (h *holding) Admit(ctx context.Context, _ *admission.Attributes, _ admission.Reader) error {
	close(h.entered)
	<-ctx.Done()
	h.left.Store(true)
	return ctx.Err()
}
func (*holding) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }
