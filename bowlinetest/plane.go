package bowlinetest

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
)

// Plane is a control plane that is closed when its test ends. It is safe for concurrent use.
type Plane struct {
	*bowline.Plane

	test      testing.TB
	settings  settings
	builtin   []string // the enabled built-in controllers
	watches   *watches
	resources *resources
	client    *client.Client
}

// Start starts a plane for a test: the whole API in this process, with the default controllers and
// without sockets or files. The plane is ready when Start returns, and is closed when the test and its subtests have
// ended. If the plane cannot start, Start ends the test. The plane logs to the test's log. Goroutines that the test
// starts after Start, and watches that it opens, must have ended when the test ends; see Timeout and AllowLeaks.
func Start(t testing.TB, options ...Option) *Plane {
	t.Helper()
	p := &Plane{test: t, settings: settingsOf(options)}
	p.ownGoroutines(t)
	o := bowline.Options{Logger: logTo(t)}
	p.applyOptions(t, &o)
	var err error
	// Not the test's context: it is canceled before cleanups run.
	if p.Plane, err = bowline.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	p.resources = newResources(nil)
	p.setUp(t)
	return p
}

// Fork returns a new plane with the current state of p, which a subtest can change without affecting p. It takes about
// a millisecond, whatever the size of the state. The controllers of p also run on the fork. The
// options apply in addition to those of p. The fork is closed when the test t ends. If the fork cannot start, Fork ends
// the test.
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
		fork.applyOptions(t, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	fork.resources = newResources(p.resources)
	fork.setUp(t)
	return fork
}

// applyOptions applies the changes of the option With.
func (p *Plane) applyOptions(t testing.TB, o *bowline.Options) {
	t.Helper()
	for _, change := range p.settings.configure {
		change(o)
	}
	p.builtin = o.Controllers
	if p.settings.bubble && o.Listen != "" {
		t.Fatal("a Bubble cannot have a Socket: waiting for the network stops virtual time; use Start instead")
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

// setUp creates the definitions and objects of the options on a started plane and starts the controllers. It registers
// the cleanup that closes the plane.
func (p *Plane) setUp(t testing.TB) {
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

// RESTConfig returns the configuration of a client-go client in this process. Clients act as the administrator, over
// the in-process transport and without rate limits. The plane tracks their watches to detect leaks. Each call returns a
// new Config, which the caller may modify.
func (p *Plane) RESTConfig() *rest.Config {
	config := p.Plane.RESTConfig()
	config.Wrap(p.watches.wrap)
	return config
}

// As returns the configuration of a client-go client in this process like RESTConfig, for another user: a member of
// groups and of system:authenticated. Clients may do what roles grant to the user and its groups.
func (p *Plane) As(user string, groups ...string) *rest.Config {
	config := p.Plane.As(user, groups...)
	config.Wrap(p.watches.wrap)
	return config
}

// AsServiceAccount returns the configuration of a client-go client like As, for a service account and its groups, so
// that a test runs a controller with the roles that it has in a cluster. The ServiceAccount need not exist.
func (p *Plane) AsServiceAccount(namespace, name string) *rest.Config {
	config := p.Plane.AsServiceAccount(namespace, name)
	config.Wrap(p.watches.wrap)
	return config
}
