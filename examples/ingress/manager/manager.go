package manager

import (
	"context"
	"log/slog"
	"reflect"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// FieldManager is who, by an Ingress' managedFields, has set what the manager sets.
const FieldManager = "ingress-manager"

// DefaultClass is the class of Ingresses that Options name none for.
const DefaultClass = "nginx"

// workers is how many services are looked at at once.
const workers = 4

// Options are what Run needs. Config is required.
type Options struct {
	// Config reaches the server.
	Config *rest.Config
	// Source is where the server's own process gets objects from without bytes; nil reads over Config.
	Source client.Source
	// Class is the ingressClassName of the Ingresses; empty means DefaultClass.
	Class string

	// Journal, Forward and TracerProvider are those of controller.ManagerOptions.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Run keeps the Ingresses of all Services until ctx ends, and has then stopped all that it started. Several of the same Class may
// run at a time: they come to the same. The error is nil when ctx ended it.
func Run(ctx context.Context, o Options) error {
	if o.Class == "" {
		o.Class = DefaultClass
	}
	m, err := controller.NewManager(o.Config, controller.ManagerOptions{
		Source: o.Source, Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider, Log: o.Log,
	})
	if err != nil {
		return err
	}
	services := informer.For[*corev1.Service](m.Informers(), corev1.SchemeGroupVersion.WithResource("services"))
	ingresses := informer.For[*networkingv1.Ingress](m.Informers(), networkingv1.SchemeGroupVersion.WithResource("ingresses"))
	m.Add(controller.Options{
		Name: "ingress-manager",
		Reconciler: &reconciler{
			class:     o.Class,
			services:  services.Indexer(),
			ingresses: ingresses.Indexer(),
			current:   client.For[*corev1.Service](m.Client()),
			write:     client.For[*networkingv1.Ingress](m.Client()),
			events:    m.Recorder(FieldManager),
		},
		Sources: []controller.Source{
			controller.For(services),
			controller.Watches(ingresses, sameName, controller.If(concerns)),
		},
		Workers: workers,
	})
	return m.Run(ctx)
}

// sameName has the service looked at that an Ingress is named after, whoever owns it: one that is somebody else's is in the
// way of the service's own.
func sameName(i *networkingv1.Ingress) []controller.Request {
	return []controller.Request{informer.KeyOf(i)}
}

// concerns says whether a change of an Ingress is one of what the manager looks at. The status, which says where the Ingress is
// served, is not.
func concerns(old, now *networkingv1.Ingress) bool {
	return old == nil || now == nil || old.UID != now.UID || (old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!reflect.DeepEqual(old.Spec, now.Spec) || !reflect.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}
