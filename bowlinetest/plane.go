package bowlinetest

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

// Plane is a control plane that ends with its test. It is safe for concurrent use.
type Plane struct {
	*bowline.Plane

	test      testing.TB
	settings  settings
	builtin   []string // the enabled built-in controllers
	watches   *watches
	resources *resources
	client    *client.Client
}

// Start starts a plane for a test: the whole API in this process, with the default controllers, without
// sockets or files. The plane is ready when Start returns, and is closed when the test and its subtests have
// ended. If the plane cannot start, Start ends the test. The plane logs to the test's log.
func Start(t testing.TB, options ...Option) *Plane {
	t.Helper()
	p := &Plane{test: t, settings: settingsOf(options)}
	p.ownGoroutines(t)
	o := bowline.Options{Logger: logTo(t)}
	p.choose(t, &o)
	var err error
	// The test's context would not do: it is canceled before cleanups run.
	if p.Plane, err = bowline.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	p.resources = newResources(nil)
	p.begin(t)
	return p
}

// Fork returns a plane with the current state of p, for a subtest to change. It takes a fraction of a
// millisecond, whatever the size of the state. The controllers that run on p run on the fork as well. The
// options apply in addition to those of p. If the fork cannot start, Fork ends the test.
func (p *Plane) Fork(t testing.TB, options ...Option) *Plane {
	t.Helper()
	fork := &Plane{test: t, settings: p.settings.onFork()}
	fork.settings.change(options)
	if t != p.test {
		fork.ownGoroutines(t)
	}
	var err error
	fork.Plane, err = p.Plane.Fork(context.Background(), func(o *bowline.Options) {
		o.Controllers, o.Logger = p.builtin, logTo(t)
		fork.choose(t, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	fork.resources = newResources(p.resources)
	fork.begin(t)
	return fork
}

// choose applies the test's changes to the plane's options.
func (p *Plane) choose(t testing.TB, o *bowline.Options) {
	t.Helper()
	for _, change := range p.settings.with {
		change(o)
	}
	p.builtin = o.Controllers
	if p.settings.bubble && o.Listen != "" {
		t.Fatal("a Bubble cannot have a Socket: waiting for one stops virtual time")
	}
}

// logTo returns a logger that writes to the test's log.
func logTo(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// ownGoroutines checks, at the end of the test, that all goroutines started from here on have ended.
func (p *Plane) ownGoroutines(t testing.TB) {
	mark := markGoroutines(t)
	t.Cleanup(func() {
		t.Helper()
		mark.verify(p)
	})
}

// begin sets up a started plane as the options ask: definitions, objects, controllers. It registers the
// cleanup that closes the plane.
func (p *Plane) begin(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	p.watches = newWatches(t, p)
	var err error
	if p.client, err = client.New(p.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	p.define(t)
	for _, object := range p.settings.objects {
		p.create(t, object)
	}
	p.run(t)
}

// RESTConfig returns a configuration for clients in the test's process. They act as the administrator, in
// process and without a rate limit. Each call returns a new configuration, which the caller may change.
func (p *Plane) RESTConfig() *rest.Config {
	config := p.Plane.RESTConfig()
	config.Wrap(p.watches.wrap)
	return config
}
