package nginx

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// byService is the name of the index of EndpointSlices by their Service, as NAMESPACE/NAME.
const byService = "service"

// everything is the only request of the loop: any change may affect the one configuration. Changes during a
// reload are combined in the next one.
var everything = loop.Request{Name: "nginx"}

// caches are the informers of all objects that the routing depends on.
type caches struct {
	ingresses *informer.Informer[*networkingv1.Ingress]
	classes   *informer.Informer[*networkingv1.IngressClass]
	services  *informer.Informer[*corev1.Service]
	endpoints *informer.Informer[*discoveryv1.EndpointSlice]
	secrets   *informer.Informer[*corev1.Secret] // only those of type kubernetes.io/tls
}

func cachesOf(f *informer.Factory) caches {
	networking, discovery, core := networkingv1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion,
		corev1.SchemeGroupVersion
	certificates := informer.Scope{Fields: fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS))}
	c := caches{
		ingresses: informer.For[*networkingv1.Ingress](f, networking.WithResource("ingresses")),
		classes:   informer.For[*networkingv1.IngressClass](f, networking.WithResource("ingressclasses")),
		services:  informer.For[*corev1.Service](f, core.WithResource("services")),
		endpoints: informer.For[*discoveryv1.EndpointSlice](f, discovery.WithResource("endpointslices")),
		secrets:   informer.For[*corev1.Secret](f, core.WithResource("secrets"), certificates),
	}
	c.endpoints.Indexer().AddIndex(byService, func(s *discoveryv1.EndpointSlice) []string {
		return []string{types.NamespacedName{Namespace: s.Namespace,
			Name: s.Labels[discoveryv1.LabelServiceName]}.String()}
	})
	return c
}

// slices returns the EndpointSlices of a Service.
func (c caches) slices(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	found, err := c.endpoints.Indexer().ByIndex(byService, service.String())
	if err != nil {
		panic(err) // cachesOf added the index
	}
	return found
}

// controller configures a server as the objects declare.
type controller struct {
	caches
	class    string
	applier  *applier
	reporter *reporter
}

// newManager returns a manager that runs a controller for a server.
func newManager(config *rest.Config, o loop.ManagerOptions, class string, http, https address,
	to server) (*loop.Manager, error) {
	m, err := loop.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	from := cachesOf(m.Informers())
	certificates := newCertificates(cached(from.secrets))
	all := objects{service: cached(from.services), slices: from.slices, certificate: certificates.file}
	c := &controller{
		caches:   from,
		class:    class,
		applier:  newApplier(to, listening{http.directive(), https.directive()}, all, certificates),
		reporter: newReporter(m, o.Log, class, http, https),
	}
	m.Add(loop.Options{Name: "ingress-nginx", Reconciler: c, Sources: []loop.Source{
		anyOf(from.ingresses), anyOf(from.classes), anyOf(from.services), anyOf(from.endpoints), anyOf(from.secrets),
	}})
	return m, nil
}

// anyOf returns a source that requests everything on each change of an informer's objects.
func anyOf[T client.Object](i *informer.Informer[T]) loop.Source {
	return loop.Watches(i, func(T) []loop.Request { return []loop.Request{everything} })
}

// cached returns a function that gets objects from an informer's cache, or the zero T if the object does not
// exist.
func cached[T client.Object](i *informer.Informer[T]) func(types.NamespacedName) T {
	return func(key types.NamespacedName) T {
		found, _ := i.Indexer().Get(key)
		return found
	}
}

// Reconcile implements controller.Reconciler: it serves the current objects and reports the result.
func (c *controller) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	class, _ := c.classes.Indexer().Get(types.NamespacedName{Name: c.class})
	if c.reporter.reportClass(class); foreign(class) {
		loop.Note(ctx, "the IngressClass %s belongs to another controller: nothing is changed", c.class)
		return loop.Result{}, c.serveNothing(ctx)
	}
	all := c.ingresses.Indexer().List()
	declared := ofClass(all, class, c.class)
	before := c.applier.served
	problems, retryAfter, err := c.applier.apply(ctx, declared)
	if c.applier.served != before {
		loop.Did(ctx, "changed the configuration of nginx")
	}
	if err != nil {
		return loop.Result{}, err
	}
	loop.Note(ctx, "%d Ingresses of the class %s are served, %d with a problem", len(declared), c.class, len(problems))
	after, err := c.reporter.report(ctx, all, declared, problems)
	return loop.Result{RequeueAfter: sooner(retryAfter, after)}, err
}

// serveNothing makes nginx answer 404 to all requests before its first configuration, so that clients get
// a response.
func (c *controller) serveNothing(ctx context.Context) error {
	if c.applier.served != "" {
		return nil
	}
	_, _, err := c.applier.apply(ctx, nil)
	return err
}

// sooner returns the shorter of two durations, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
