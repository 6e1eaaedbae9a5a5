package bowlinetest

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

// Plane is a control plane that ends with its test. It may be used by many goroutines.
type Plane struct {
	*bowline.Plane

	test      testing.TB
	settings  settings
	builtin   []string // which of the plane's own controllers run
	watches   *watches
	resources *resources
	client    *client.Client
}

// Start starts a plane for a test: the whole API in this process, with the controllers that every plane has, no socket and
// no files. It is ready when Start returns, and ends when the test and its subtests do. A plane that cannot start ends the
// test. What the plane has to say is in the test's log.
func Start(t testing.TB, options ...Option) *Plane {
	t.Helper()
	p := &Plane{test: t, settings: settingsOf(options)}
	p.ownGoroutines(t)
	o := bowline.Options{Log: logTo(t)}
	p.choose(t, &o)
	var err error
	// Not the test's context, which has ended by the time that cleanups run.
	if p.Plane, err = bowline.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	p.resources = newResources(nil)
	p.begin(t)
	return p
}

// Fork makes a plane with the state that p has now, for a subtest to change: it takes a fraction of a millisecond, however
// much there is. What ran on p runs on the fork as well. The options are added to those of p.
func (p *Plane) Fork(t testing.TB, options ...Option) *Plane {
	t.Helper()
	fork := &Plane{test: t, settings: p.settings.onFork()}
	fork.settings.change(options)
	if t != p.test {
		fork.ownGoroutines(t)
	}
	var err error
	fork.Plane, err = p.Plane.Fork(context.Background(), func(o *bowline.Options) {
		o.Controllers, o.Log = p.builtin, logTo(t)
		fork.choose(t, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	fork.resources = newResources(p.resources)
	fork.begin(t)
	return fork
}

// choose changes the plane's own options as the test's say.
func (p *Plane) choose(t testing.TB, o *bowline.Options) {
	t.Helper()
	for _, change := range p.settings.with {
		change(o)
	}
	p.builtin = o.Controllers
	if p.settings.bubble && o.Listen != "" {
		t.Fatal("there is no Socket in a Bubble: who waits for one keeps its time from passing")
	}
}

// logTo is the test's log.
func logTo(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// ownGoroutines makes the test responsible for the goroutines that it starts from here on.
func (p *Plane) ownGoroutines(t testing.TB) {
	mark := markGoroutines(t)
	t.Cleanup(func() {
		t.Helper()
		mark.verify(p)
	})
}

// begin makes of a plane that runs what the options say. The test closes it.
func (p *Plane) begin(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	p.watches = newWatches(t, p)
	var err error
	if p.client, err = client.New(p.Config()); err != nil {
		t.Fatal(err)
	}
	p.define(t)
	for _, object := range p.settings.objects {
		p.create(t, object)
	}
	p.run(t)
}

// Config is for clients in the test's process: it acts as the administrator, over no socket, with no rate limit. Each call
// returns a new one, which the caller may change.
func (p *Plane) Config() *rest.Config {
	config := p.RESTConfig()
	config.Wrap(p.watches.wrap)
	return config
}
