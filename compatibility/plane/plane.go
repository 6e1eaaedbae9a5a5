// Package plane starts the server that the tests of this module speak to: a bowline.Plane with a socket, over TLS, as
// the clients of a cluster find it. The tests alone call it.
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

// Start starts a plane of its own for one test, and returns how its administrator reaches its socket. It ends with the
// test.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	plane, err := bowline.Start(context.Background(), bowline.Options{
		Listen:      "127.0.0.1:0",
		Controllers: []string{"namespace", "garbagecollector"}, // and none that makes objects: tests count theirs
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	config := Must(plane.TLSConfig())(t)
	config.WarningHandler = rest.NoWarnings{}
	// Clients leave connections open. They close before the plane does, or it would give them a second to go.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(next) })
		return next
	})
	return config
}

// Widgets is a definition of a custom resource, with status, scale, columns and a selectable field.
func Widgets(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(widgets, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// Define creates a definition. What it defines is served when Define returns.
func Define(t testing.TB, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	clients := Must(apiextensions.NewForConfig(config))(t)
	_, err := clients.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// Must ends the test on an error: Must(f())(t) is f's result.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
