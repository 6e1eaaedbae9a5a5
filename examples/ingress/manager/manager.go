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
	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/informer"
)

// FieldManager is the field manager of the manager's writes.
const FieldManager = "ingress-manager"

// DefaultClass is the default of Options.Class.
const DefaultClass = "nginx"

// workers is the number of services that are reconciled concurrently.
const workers = 4

// Options configure Run. Config is required.
type Options struct {
	// Config is the client configuration of the server.
	Config *rest.Config
	// Source provides objects without encoding in the server's own process; nil reads over Config.
	Source client.Source
	// Class is the ingressClassName of the Ingresses; empty means DefaultClass.
	Class string

	// Journal, Forward and TracerProvider are passed to the manager of the control loop.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// Run maintains the Ingresses of all Services until ctx ends, and returns when everything that it started has
// ended. Several managers with the same Class may run concurrently. It returns nil when ctx ends.
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
	services := controller.ObjectsOf[*corev1.Service](m, corev1.SchemeGroupVersion.WithResource("services"))
	ingresses := controller.ObjectsOf[*networkingv1.Ingress](m,
		networkingv1.SchemeGroupVersion.WithResource("ingresses"))
	err = m.Build("ingress-manager").For(services).
		Watches(controller.Map(ingresses, sameName, controller.If(concerns))).
		With(controller.Options{Workers: workers}).
		Complete(&reconciler{class: o.Class, services: services, ingresses: ingresses,
			events: m.Recorder(FieldManager)})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// sameName requests a reconcile of the service with the name of an Ingress, even if the service does not own
// it: a foreign Ingress blocks the service's own.
func sameName(i *networkingv1.Ingress) []controller.Request {
	return []controller.Request{informer.KeyOf(i)}
}

// concerns reports whether a change of an Ingress is relevant to the manager. A change of the status is not.
func concerns(old, now *networkingv1.Ingress) bool {
	return old == nil || now == nil || old.UID != now.UID ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!reflect.DeepEqual(old.Spec, now.Spec) || !reflect.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}
