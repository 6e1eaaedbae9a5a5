package bowlinetest

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

// Plane is a control plane that ends with its test. It may be used by many goroutines.
type Plane struct {
	*bowline.Plane
}

// Start starts a plane for a test: the whole API in this process, with the controllers that every plane has, no socket and
// no files. It is ready when Start returns, and ends when the test and its subtests do. A plane that cannot start ends the
// test. What the plane has to say is in the test's log.
func Start(t testing.TB, options ...Option) *Plane {
	t.Helper()
	s := settings{plane: bowline.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	for _, option := range options {
		option(&s)
	}
	// Not the test's context, which has ended by the time that cleanups run.
	plane, err := bowline.Start(context.Background(), s.plane)
	if err != nil {
		t.Fatal(err)
	}
	return adopt(t, plane)
}

// adopt makes a plane the test's, which closes it.
func adopt(t testing.TB, plane *bowline.Plane) *Plane {
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	return &Plane{Plane: plane}
}

// Config is for clients in the test's process: it acts as the administrator, over no socket, with no rate limit. Each call
// returns a new one, which the caller may change.
func (p *Plane) Config() *rest.Config { return p.RESTConfig() }
