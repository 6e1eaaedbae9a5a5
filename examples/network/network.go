// Package network runs the Network example: a user declares a Network; the controller creates a real network,
// keeps it as declared, and removes it when the declaration is deleted. The package connects the controller
// with a provider and a server. Its callers are the bowline command (in the server's process, `up
// --controllers='*,network'`) and the example's own program (cmd).
//
//	apis/        the Network kind as Go structs
//	crd/         its definition, for kubectl apply
//	controller/  compares declared and real networks
//	provider/    creates real networks: bridge (network namespaces), record (files) or neutron (OpenStack)
package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron"
)

// Options configure Run. Config is required, and so is Folder if the record provider may be chosen.
type Options struct {
	// Config is the client configuration of the server, in process or over the wire.
	Config *rest.Config
	// Source provides objects without encoding in the server's own process; nil reads over Config.
	Source client.Source

	// Provider is one of ProviderAuto (also when empty), ProviderBridge, ProviderRecord and ProviderNeutron.
	Provider string
	// Folder is where the record provider writes its files.
	Folder string
	// Plane is the ID in the names of real networks; networks of other planes are not touched. It has up to
	// 100 letters, digits, '-' and '_'. Empty means the UID of the namespace kube-system, the usual identity
	// of a cluster.
	Plane string

	// Resync is the interval at which all networks are compared even without an event; 0 means ten minutes.
	Resync time.Duration
	// RemoveOnStop removes this plane's real networks when Run ends. Set it if the server loses its objects
	// when it stops.
	RemoveOnStop bool
	// Journal records why the controller acted; nil means a journal of its own. In the server's process it is
	// the server's journal.
	Journal *why.Journal
	// Forward is the path at which the server accepts journal entries of other processes; empty forwards
	// nothing.
	Forward string
	// TracerProvider creates a span for each reconcile; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// Run runs the controller until ctx ends, and returns when every goroutine that it started has ended. It
// returns nil when ctx ended, unless RemoveOnStop failed. Any other error means that Run could not start.
func Run(ctx context.Context, options Options) error {
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	plane := options.Plane
	if plane == "" {
		var err error
		if plane, err = planeOf(ctx, options.Config); err != nil {
			return err
		}
	}
	choice := choice{
		name: options.Provider, plane: plane, folder: options.Folder,
		openStack: neutron.Configured(), bridgeError: bridge.Probe, log: log,
	}
	chosen, why, err := choice.provider(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if c, ok := chosen.(io.Closer); ok {
		defer c.Close()
	}
	log.Info("network provider "+chosen.Name()+" chosen", "why", why)
	loop, err := controller.New(controller.Options{
		Config: options.Config, Source: options.Source, Provider: chosen, Resync: options.Resync,
		Workers: workersFor(chosen), Log: log,
		Journal: options.Journal, Forward: options.Forward, TracerProvider: options.TracerProvider,
	})
	if err != nil {
		return err
	}
	loop.Run(ctx)
	if l, ok := chosen.(*lateProvider); ok && l.loggedIn() == nil {
		return nil // it has created nothing
	}
	if options.RemoveOnStop {
		err = errors.Join(err, removeAll(context.WithoutCancel(ctx), chosen))
	}
	return err
}

// workersFor returns the number of networks that are reconciled concurrently. Neutron is slow for a single
// request but processes many of them together efficiently, so it has more workers.
func workersFor(p provider.Provider) int {
	if p.Name() == ProviderNeutron {
		return 16
	}
	return controller.DefaultWorkers
}

// planeOf returns the identity of the server.
func planeOf(ctx context.Context, config *rest.Config) (string, error) {
	c, err := client.New(config)
	if err != nil {
		return "", err
	}
	namespaces := client.Of[*corev1.Namespace](c, corev1.SchemeGroupVersion.WithResource("namespaces"))
	ns, err := namespaces.Get(ctx, "", metav1.NamespaceSystem)
	if err != nil {
		return "", fmt.Errorf("read the server's identity, the UID of namespace %s: %w", metav1.NamespaceSystem,
			err)
	}
	return string(ns.UID), nil
}

// removeAll removes every real network of the provider's plane.
func removeAll(ctx context.Context, p provider.Provider) error {
	uids, err := p.List(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, uid := range uids {
		if err := p.Delete(ctx, uid); err != nil {
			failed = append(failed, fmt.Errorf("remove network %s: %w", p.ID(uid), err))
		}
	}
	return errors.Join(failed...)
}
