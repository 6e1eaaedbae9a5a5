package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/examples/network"
)

// upPlan is what up was asked to do, checked.
type upPlan struct {
	flags       upFlags
	host        string // of the listen address
	controllers selection

	started time.Time
	stdin   io.Reader
	screen  *screen
	log     *slog.Logger
	traces  trace.TracerProvider // nil when nobody collects them
}

// run serves until ctx is done, and then stops in the opposite order of starting.
func (p *upPlan) run(ctx context.Context) (err error) {
	keepGarbage()
	if p.controllers.network {
		if err := network.Check(p.flags.networkProvider); err != nil {
			return err
		}
	}
	home, err := p.openHome()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.close()) }()
	traces, stopTracing, err := startTracing(ctx, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopTracing()) }()
	p.traces = traces
	kept, err := openStorage(home, p.flags.acceptDamage, p.log)
	if err != nil {
		return err
	}
	plane, err := p.startPlane(ctx, home, kept)
	boundGarbage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	if err := home.publish(p.url(plane)); err != nil {
		return err
	}
	report := newReport(p.screen)
	report.serving(p.url(plane), home.kubeconfig, kept.String(), time.Since(p.started))
	if err := p.work(ctx, plane, home, report); err != nil {
		return err
	}
	report.stopping()
	return nil
}

// url is where clients of this machine reach the plane, also when it listens on every address.
func (p *upPlan) url(plane *bowline.Plane) string {
	host, port, err := net.SplitHostPort(plane.Addr())
	if err != nil {
		return "https://" + plane.Addr()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// work does what goes on beside serving, until ctx is done and all of it has stopped.
func (p *upPlan) work(ctx context.Context, plane *bowline.Plane, home *home, report *report) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var failures []error
	var mu sync.Mutex
	start := func(work func(context.Context) error) {
		group.Go(func() {
			if err := work(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
				cancel()
			}
		})
	}
	if p.controllers.network {
		start(func(ctx context.Context) error { return p.runNetwork(ctx, plane, home) })
	}
	if p.controllers.ingress {
		start(func(ctx context.Context) error { return p.runIngress(ctx, plane, home) })
	}
	if p.flags.nodes > 0 {
		start(func(ctx context.Context) error { return p.runNodes(ctx, plane) })
	}
	start(func(ctx context.Context) error { return p.declare(ctx, plane, report) })
	start(func(ctx context.Context) error { return p.renew(ctx, plane, home) })
	<-ctx.Done()
	p.screen.settle()
	group.Wait()
	return errors.Join(failures...)
}

// declare applies what -f names and waits until it is true.
func (p *upPlan) declare(ctx context.Context, plane *bowline.Plane, report *report) error {
	if len(p.flags.files) == 0 {
		return nil
	}
	declared, failures := p.read(ctx)
	if ctx.Err() != nil {
		return nil
	}
	report.begin(len(declared) + len(failures))
	for _, failure := range failures {
		report.failed(failure)
	}
	applier, err := declare.NewApplier(plane.RESTConfig(), report.warning)
	if err != nil {
		return err
	}
	var applied []declare.Applied
	for _, d := range declared {
		kept, err := applier.Apply(d)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			report.failed(err)
		default:
			applied = append(applied, kept)
		}
	}
	if err := declare.Watch(ctx, plane.RESTConfig(), applied, p.controlled, report.every(), report); err != nil {
		return err
	}
	if ctx.Err() == nil {
		report.end()
	}
	return nil
}

// read reads what -f names. Standard input may stay open for as long as it likes: it keeps nobody from stopping.
func (p *upPlan) read(ctx context.Context) ([]manifest.Declared, []error) {
	var declared []manifest.Declared
	var failures []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		declared, failures = manifest.Read(p.flags.files, p.stdin)
	}()
	select {
	case <-done:
		return declared, failures
	case <-ctx.Done():
		return nil, nil
	}
}

// renewAgain is when a renewal that failed is tried again: the certificates have weeks to go, and serving goes on.
const renewAgain = time.Hour

// renew replaces certificates before they expire, for a server that runs for so long.
func (p *upPlan) renew(ctx context.Context, plane *bowline.Plane, home *home) error {
	wait := time.Until(home.keys.RenewAt())
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := errors.Join(home.keys.Renew(), home.publish(p.url(plane))); err != nil {
			p.log.Error("certificates are not renewed: trying again", "error", err, "after", renewAgain)
			wait = renewAgain
			continue
		}
		wait = time.Until(home.keys.RenewAt())
		p.log.Info("certificates renewed; the kubeconfig is written again", "kubeconfig", home.kubeconfig)
	}
}
