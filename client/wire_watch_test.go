package client_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// If Watch returns an error, the Watch is nil, and not an interface with a nil pointer.
func TestFailedWatchIsNil(t *testing.T) {
	t.Parallel()
	transport := inprocess.NewTransport(nil)
	transport.Close()
	c, err := client.New(transport.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if w, err := client.NewSource(c).Watch(context.Background(), configMaps, client.Options{}); w != nil || err == nil {
		t.Errorf("got %v, %v of a closed server, want nil and an error", w, err)
	}
}
