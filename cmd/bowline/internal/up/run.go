package up

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/state"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/examples/network"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// plan holds the validated configuration of bowline up.
type plan struct {
	flags       upFlags
	host        string // of the listen address
	controllers serve.Selection
	// maxBytes and maxNamespaceBytes bound the stored objects; 0 stands for the default.
	maxBytes, maxNamespaceBytes int64

	started time.Time
	stdin   io.Reader
	screen  *terminal.Screen
	log     *slog.Logger
	traces  trace.TracerProvider // nil if tracing is disabled
}

// run serves until ctx is done, then stops everything in reverse order of startup.
func (p *plan) run(ctx context.Context) error {
	report := newReport(p.screen)
	if err := p.serve(ctx, report); err != nil {
		return err
	}
	report.stopping()
	return nil
}

func (p *plan) serve(ctx context.Context, report *report) (err error) {
	serve.LimitMemory()
	serve.PauseGC()
	if p.controllers.Network {
		if err := network.Check(p.flags.networkProvider); err != nil {
			return err
		}
	}
	home, err := p.openHome()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	traces, stopTracing, err := startTracing(ctx, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopTracing()) }()
	p.traces = traces
	stored, err := openStorage(home, p.flags.acceptDamage, p.log)
	if err != nil {
		return err
	}
	plane, err := p.startPlane(ctx, home, stored)
	serve.LimitGarbage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	if err := home.Publish(p.url(plane)); err != nil {
		return err
	}
	report.serving(p.url(plane), home.Kubeconfig, stored.String(), time.Since(p.started))
	return p.runAll(ctx, plane, home, report)
}

// openHome locks the state folder, or creates a temporary one with --ephemeral. The caller closes the folder
// after all of its users have stopped.
func (p *plan) openHome() (*serve.Home, error) {
	var h *serve.Home
	var err error
	if p.flags.ephemeral {
		h, err = serve.OpenEphemeral(pki.Hosts(p.host))
	} else {
		h, err = serve.Open(p.flags.data, pki.Hosts(p.host))
	}
	if err != nil {
		return nil, err
	}
	if p.flags.kubeconfig != "" {
		h.Kubeconfig = p.flags.kubeconfig
	}
	if err := state.RemoveKubeconfig(h.Kubeconfig); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// url returns the URL under which clients on this machine reach the plane, even if the plane listens on all
// addresses.
func (p *plan) url(plane *bowline.Plane) string {
	host, port, err := net.SplitHostPort(plane.Addr())
	if err != nil {
		return "https://" + plane.Addr()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// runAll runs the controllers outside of the plane, the simulated nodes, the declaration of files and the
// renewal of certificates until ctx is done or one of them fails. It returns after all parts have stopped. If
// some do not stop in time, the error names them.
func (p *plan) runAll(ctx context.Context, plane *bowline.Plane, home *serve.Home, report *report) error {
	parts := newParts(ctx)
	defer parts.cancel()
	if p.controllers.Network {
		parts.start("network controller", func(ctx context.Context) error { return p.runNetwork(ctx, plane, home) })
	}
	if p.controllers.Ingress {
		parts.start("ingress controllers", func(ctx context.Context) error { return p.runIngress(ctx, plane, home) })
	}
	if p.flags.nodes > 0 {
		parts.start("simulated nodes", func(ctx context.Context) error { return p.runNodes(ctx, plane) })
	}
	parts.start("applying of manifests", func(ctx context.Context) error { return p.declare(ctx, plane, report) })
	parts.start("renewal of certificates", func(ctx context.Context) error { return p.renew(ctx, plane, home) })
	parts.start("return of memory", func(ctx context.Context) error { serve.ReleaseMemory(ctx); return nil })
	<-parts.ctx.Done()
	p.screen.EndStatus()
	return parts.wait()
}

// declare applies the manifests named by -f and waits until they are ready.
func (p *plan) declare(ctx context.Context, plane *bowline.Plane, report *report) error {
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
	applier, err := declare.NewApplier(ctx, plane.RESTConfig(), report.warning)
	if err != nil {
		return err
	}
	var applied []declare.Applied
	for _, d := range declared {
		object, err := applier.Apply(d)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			report.failed(err)
		default:
			applied = append(applied, object)
		}
	}
	if err := declare.Watch(ctx, plane.RESTConfig(), applied, p.hasReadyController, report.statusInterval(),
		report); err != nil {
		return err
	}
	if ctx.Err() == nil {
		report.end()
	}
	return nil
}

// read reads the manifests named by -f. It returns early when ctx is done, because a read from standard input
// may block forever.
func (p *plan) read(ctx context.Context) ([]manifest.Declared, []error) {
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

// renewRetryInterval is the delay before a failed renewal is retried. Certificates are renewed weeks before
// they expire, so the server continues to serve meanwhile.
const renewRetryInterval = time.Hour

// renew renews the certificates and rewrites the kubeconfig before the certificates expire, until ctx is
// done.
func (p *plan) renew(ctx context.Context, plane *bowline.Plane, home *serve.Home) error {
	wait := time.Until(home.Certificates.RenewAt())
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := errors.Join(home.Certificates.Renew(), home.Publish(p.url(plane))); err != nil {
			p.log.Error("renewing certificates failed, will retry", "error", err, "after", renewRetryInterval)
			wait = renewRetryInterval
			continue
		}
		wait = time.Until(home.Certificates.RenewAt())
		p.log.Info("certificates renewed, kubeconfig rewritten", "kubeconfig", home.Kubeconfig)
	}
}
