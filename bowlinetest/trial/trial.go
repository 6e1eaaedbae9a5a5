// Package trial is what the tests of Bowline's own controllers share: planes on which nothing runs but what a test adds,
// controllers as programs that Explore runs once or twice, and nodes that have pods go on as a test says.
package trial

import (
	"context"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
)

// Alone has a plane run no controllers but those of the test.
func Alone() bowlinetest.Option {
	return bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{} })
}

// Program is controllers as a program of their own, which knows of the server no more than where it is.
type Program func(ctx context.Context, config *rest.Config) error

// Of is the program with the controllers that each of add adds to its manager.
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

// Once is the program as the one process of a Scenario.
func (p Program) Once() []bowlinetest.Process {
	return []bowlinetest.Process{{Name: "controller", Run: p}}
}

// Twice is the program as two processes that work at once, and elect nobody.
func (p Program) Twice() []bowlinetest.Process {
	return []bowlinetest.Process{{Name: "one", Run: p}, {Name: "two", Run: p}}
}

// Events says whether a point is about an event, for a Scenario that skips them: nobody's state is in those.
func Events(p bowlinetest.Point) bool { return p.Resource == "events" }
