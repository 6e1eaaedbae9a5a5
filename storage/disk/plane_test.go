package disk_test

import (
	"context"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// world is a plane for one test, and a client configuration for it.
type world struct {
	*bowline.Plane
	config *rest.Config
}

// start starts a plane in process, without controllers.
func start(t testing.TB, change ...func(*bowline.Options)) *world {
	t.Helper()
	w := startPlane(t, bowline.Options{Controllers: []string{bowline.NoControllers}}, change)
	w.connect(t, w.RESTConfig())
	return w
}

// startTLS starts a plane with a socket, and connects to it as its administrator.
func startTLS(t testing.TB, change ...func(*bowline.Options)) *world {
	t.Helper()
	w := startPlane(t, bowline.Options{Controllers: []string{bowline.NoControllers}, Listen: "127.0.0.1:0"}, change)
	w.connect(t, must(w.SocketConfig())(t))
	return w
}

func startPlane(t testing.TB, o bowline.Options, change []func(*bowline.Options)) *world {
	t.Helper()
	for _, c := range change {
		c(&o)
	}
	plane := must(bowline.Start(context.Background(), o))(t)
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	return &world{Plane: plane}
}

// connect sets the configuration that the test's clients use.
func (w *world) connect(t testing.TB, config *rest.Config) {
	t.Helper()
	config.WarningHandler = rest.NoWarnings{}
	w.config = config
	transport := must(rest.TransportFor(config))(t)
	if config.Transport == nil { // over a socket: otherwise the plane waits a second for idle connections
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport) })
	}
}

// typed returns typed clients with one content type.
func typed(t testing.TB, config *rest.Config, contentType string) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.ContentType = contentType
	return must(kubernetes.NewForConfig(config))(t)
}

// must returns the result of a function, or ends the test on an error: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
