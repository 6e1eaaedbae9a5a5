// Package network runs the Network example: a user declares a Network, and a network is made, kept as declared, and
// removed with its declaration. It puts the controller together with a provider and a server; its callers are the
// bowline command (in the server's process, `up --controllers='*,network'`) and the example's own program (cmd).
//
//	apis/        the Network kind as Go structs
//	crd/         its definition, for kubectl apply
//	controller/  compares what is declared with what is there
//	provider/    makes networks real: bridge (network namespaces), record (files) or neutron (OpenStack)
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
	"github.com/bowline-dev/bowline/examples/network/controller"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron"
	"github.com/bowline-dev/bowline/internal/why"
)

// Options are what Run needs. Config is required, and so is Folder where records may be kept.
type Options struct {
	// Config reaches the server, in process or over the wire.
	Config *rest.Config
	// Source is where the server's own process gets objects from without bytes; nil reads over Config.
	Source client.Source

	// Provider is one of ProviderAuto (also when empty), ProviderBridge, ProviderRecord and ProviderNeutron.
	Provider string
	// Folder is where the record provider keeps its files.
	Folder string
	// Plane is the id that real networks carry, so that those of other servers on the machine are left alone: up to 100
	// letters, digits, '-' and '_'. Empty means the uid of the namespace kube-system, the usual identity of a cluster.
	Plane string

	// Resync is how often everything is compared although nothing seems to have happened; 0 means ten minutes.
	Resync time.Duration
	// RemoveOnStop removes this plane's real networks at the end: for a server whose objects end with it.
	RemoveOnStop bool
	// Journal keeps why the controller did what it did; nil keeps it for itself. In the server's own process it is the server's.
	Journal *why.Journal
	// Forward is the server's path that takes that in from other processes; empty forwards nothing.
	Forward string
	// TracerProvider makes a span for each run; nil traces nothing.
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Run makes networks real until ctx ends, and has then stopped all that it started. The error is nil when ctx ended,
// unless what RemoveOnStop asks for failed; any other is why it could not begin.
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
		openStack: neutron.Configured(), forbids: bridge.Probe, log: log,
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
		Config: options.Config, Source: options.Source, Provider: chosen, Resync: options.Resync, Workers: workersFor(chosen), Log: log,
		Journal: options.Journal, Forward: options.Forward, TracerProvider: options.TracerProvider,
	})
	if err != nil {
		return err
	}
	loop.Run(ctx)
	if l, ok := chosen.(*late); ok && l.loggedIn() == nil {
		return nil // there is nothing that it could have made
	}
	if options.RemoveOnStop {
		err = errors.Join(err, removeAll(context.WithoutCancel(ctx), chosen))
	}
	return err
}

// workersFor is how many networks are worked on at once. Neutron takes a while for each and deals with many at once in less, so that
// more of them wait for it.
func workersFor(p provider.Provider) int {
	if p.Name() == ProviderNeutron {
		return 16
	}
	return controller.DefaultWorkers
}

// planeOf asks the server for its identity.
func planeOf(ctx context.Context, config *rest.Config) (string, error) {
	c, err := client.New(config)
	if err != nil {
		return "", err
	}
	namespaces := client.Of[*corev1.Namespace](c, corev1.SchemeGroupVersion.WithResource("namespaces"))
	ns, err := namespaces.Get(ctx, "", metav1.NamespaceSystem)
	if err != nil {
		return "", fmt.Errorf("ask the server for its identity, the uid of namespace %s: %w", metav1.NamespaceSystem, err)
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
