package bowlinetest

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// running returns a function that runs concurrently with a test until its context ends.
type running func(t testing.TB, p *Plane) (func(context.Context) error, error)

// run starts the controllers; they run until the test ends.
func (p *Plane) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended []<-chan struct{}
	t.Cleanup(func() {
		t.Helper()
		cancel()
		p.await(t, ended)
	})
	for i, prepare := range p.settings.controllers {
		run, err := prepare(t, p)
		if err != nil {
			t.Fatalf("controller %d of %d: %v", i+1, len(p.settings.controllers), err)
		}
		done := make(chan struct{})
		ended = append(ended, done)
		go func() {
			defer close(done)
			if err := run(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("controller %d of %d failed: %v", i+1, len(p.settings.controllers), err)
			}
		}()
	}
}

// await returns when all controllers have returned, or reports the first one that has not. The check for
// leaked goroutines shows its stack.
func (p *Plane) await(t testing.TB, ended []<-chan struct{}) {
	t.Helper()
	limit := time.NewTimer(p.settings.timeout)
	defer limit.Stop()
	for i, done := range ended {
		select {
		case <-done:
		case <-limit.C:
			p.leaked(t, "controller %d of %d has not returned %s after its context ended", i+1, len(ended),
				p.settings.timeout)
			return
		}
	}
}

// unmanaged wraps a controller that uses the plane as it would use any server.
func unmanaged(run func(context.Context, *rest.Config) error) running {
	return func(_ testing.TB, p *Plane) (func(context.Context) error, error) {
		return func(ctx context.Context) error { return run(ctx, p.RESTConfig()) }, nil
	}
}

// managed prepares a manager that reads the plane's own objects and detects mutations of cached objects.
func managed(add func(*controller.Manager) error) running {
	return func(t testing.TB, p *Plane) (func(context.Context) error, error) {
		m, err := controller.NewManager(p.RESTConfig(), controller.ManagerOptions{
			Source: p.Source(), Mutations: informer.DetectMutations(t), Journal: p.Journal(), Log: logTo(t),
		})
		if err != nil {
			return nil, err
		}
		return m.Run, add(m)
	}
}
