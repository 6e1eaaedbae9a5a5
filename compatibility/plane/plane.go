// Package plane starts the server for the tests of this module: a bowline.Plane with a socket, which clients
// access over TLS as they access a cluster. Only tests call it.
package plane

import (
	"context"
	_ "embed"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline"
)

//go:embed widgets.yaml
var widgets []byte

// Start starts a new plane for a test and returns the configuration of its administrator. The plane ends with
// the test.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	plane, err := bowline.Start(context.Background(), bowline.Options{
		Listen: "127.0.0.1:0",
		// no controllers that create objects: tests count their own
		Controllers: []string{"namespace", "garbagecollector"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	config := Must(plane.SocketConfig())(t)
	config.WarningHandler = rest.NoWarnings{}
	// Clients leave connections open. They are closed before the plane, which otherwise would wait a second
	// for them.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(next) })
		return next
	})
	return config
}

// Widgets returns a definition of a custom resource with status, scale, printer columns and a selectable
// field.
func Widgets(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(widgets, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// Define creates a definition and returns when its resource is served.
func Define(t testing.TB, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	clients := Must(apiextensions.NewForConfig(config))(t)
	_, err := clients.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// Must fails the test on an error: Must(f())(t) returns the result of f.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
