// Package trial supports the tests of Bowline's own controllers: planes without controllers other than those
// of the test, controllers as programs that Explore runs once or twice, and simulated nodes.
package trial

import (
	"context"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
)

// Alone starts a plane without built-in controllers.
func Alone() bowlinetest.Option {
	return bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{bowline.NoControllers} })
}

// Program runs controllers as a separate program, which knows nothing of the server but its configuration for
// clients.
type Program func(ctx context.Context, config *rest.Config) error

// Of returns a program whose manager runs the controllers that the functions add.
func Of[T any](add ...func(*controller.Manager) T) Program {
	return func(ctx context.Context, config *rest.Config) error {
		m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		for _, a := range add {
			a(m)
		}
		return m.Run(ctx)
	}
}

// Once returns the program as the only process of a Scenario.
func (p Program) Once() []bowlinetest.Process {
	return []bowlinetest.Process{{Name: "controller", Run: p}}
}

// Twice returns the program as two processes that run at the same time, without leader election.
func (p Program) Twice() []bowlinetest.Process {
	return []bowlinetest.Process{{Name: "one", Run: p}, {Name: "two", Run: p}}
}

// Events reports whether a point concerns an Event, for scenarios that skip those: Events are not part of the
// state.
func Events(p bowlinetest.Point) bool { return p.Resource == "events" }
