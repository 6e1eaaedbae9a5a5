package controller

import (
	"context"
	"errors"
	"sync"

	"github.com/bowline-dev/bowline/informer"
)

// Run runs the informers and the controllers until ctx ends, and returns when everything that it started has
// ended. It must be called at most once. The error is nil if ctx ended and everything stopped in time.
// Otherwise it reports that the lease was lost, that HealthAddress cannot be served, or which reconciliations did not
// return in time.
//
// Run stops in order: the controllers finish their running reconciliations while the caches are still
// updated; the recorders and the forwarder send their pending events and runs, within two seconds; the informers stop;
// and the lease is released. If a reconciliation still runs, Run does not release the lease, which then expires.
func (m *Manager) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	background := context.WithoutCancel(ctx)
	informers := start(background, m.runInformers)
	recorders := start(background, m.runRecorders)
	health, err := m.serveHealth(stop)
	if err == nil {
		err = m.runControllers(ctx, background, stop)
	}
	recorders.stop()
	informers.stop()
	m.lease.release(err == nil)
	health.stop()
	if cause := context.Cause(ctx); isFailure(cause) {
		err = errors.Join(cause, err)
	}
	return err
}

// runControllers acquires the lease and runs the controllers until ctx ends.
func (m *Manager) runControllers(ctx, background context.Context, stop context.CancelCauseFunc) error {
	m.lease.acquire(ctx, background, stop)
	if ctx.Err() != nil {
		return nil
	}
	errs := make([]error, len(m.controllers))
	var parts sync.WaitGroup
	for i, c := range m.controllers {
		parts.Go(func() { errs[i] = c.Run(ctx) })
	}
	parts.Go(func() { m.awaitReady(ctx) })
	parts.Wait()
	<-ctx.Done() // a manager may have informers and no controllers
	return errors.Join(errs...)
}

// runInformers runs all informer factories.
func (m *Manager) runInformers(ctx context.Context) {
	var parts sync.WaitGroup
	for _, f := range m.factories() {
		parts.Go(func() { f.Run(ctx) })
	}
	parts.Wait()
}

// factories returns the shared informer factory and those of NewInformers.
func (m *Manager) factories() []*informer.Factory {
	return append([]*informer.Factory{m.informers}, m.added...)
}

// runRecorders runs the recorders and the journal's forwarder.
func (m *Manager) runRecorders(ctx context.Context) {
	var parts sync.WaitGroup
	for _, r := range m.recorders {
		parts.Go(func() { r.run(ctx) })
	}
	if m.forwarder != nil {
		parts.Go(func() { m.forwarder.run(ctx) })
	}
	parts.Wait()
}

func (m *Manager) awaitReady(ctx context.Context) {
	for _, c := range m.controllers {
		select {
		case <-c.Ready():
		case <-ctx.Done():
			return
		}
	}
	close(m.ready)
}

// part is a goroutine that runs until it is stopped.
type part struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func start(ctx context.Context, run func(context.Context)) *part {
	ctx, cancel := context.WithCancel(ctx)
	p := &part{cancel: cancel}
	p.ended.Go(func() { run(ctx) })
	return p
}

// stop stops the part and waits for it. Stopping nil does nothing.
func (p *part) stop() {
	if p != nil {
		p.cancel()
		p.ended.Wait()
	}
}

// isFailure reports whether a manager was stopped by something other than its caller.
func isFailure(cause error) bool {
	return cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded)
}
