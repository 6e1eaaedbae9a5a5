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

// byService is the index of EndpointSlices by the Service that they are of, as NAMESPACE/NAME.
const byService = "service"

// everything is the one request of the loop: each change may change the one configuration. What changes while nginx is being
// reloaded is in the next one together.
var everything = loop.Request{Name: "nginx"}

// caches are the objects that routing follows from.
type caches struct {
	ingresses *informer.Informer[*networkingv1.Ingress]
	classes   *informer.Informer[*networkingv1.IngressClass]
	services  *informer.Informer[*corev1.Service]
	endpoints *informer.Informer[*discoveryv1.EndpointSlice]
	secrets   *informer.Informer[*corev1.Secret] // of certificates
}

func cachesOf(f *informer.Factory) caches {
	networking, discovery, core := networkingv1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion, corev1.SchemeGroupVersion
	certificates := informer.Scope{Fields: fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS))}
	c := caches{
		ingresses: informer.For[*networkingv1.Ingress](f, networking.WithResource("ingresses")),
		classes:   informer.For[*networkingv1.IngressClass](f, networking.WithResource("ingressclasses")),
		services:  informer.For[*corev1.Service](f, core.WithResource("services")),
		endpoints: informer.For[*discoveryv1.EndpointSlice](f, discovery.WithResource("endpointslices")),
		secrets:   informer.For[*corev1.Secret](f, core.WithResource("secrets"), certificates),
	}
	c.endpoints.Indexer().AddIndex(byService, func(s *discoveryv1.EndpointSlice) []string {
		return []string{types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}.String()}
	})
	return c
}

// slices are those of a Service.
func (c caches) slices(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	found, err := c.endpoints.Indexer().ByIndex(byService, service.String())
	if err != nil {
		panic(err) // cachesOf added the index
	}
	return found
}

// controller has a server serve what the objects declare.
type controller struct {
	caches
	class    string
	settler  *settler
	reporter *reporter
}

// newManager makes a controller for a server, and the manager that runs it, with these options of its own.
func newManager(config *rest.Config, o loop.ManagerOptions, class string, http, https address, to server) (*loop.Manager, error) {
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
		settler:  newSettler(to, listening{http.directive(), https.directive()}, all, certificates),
		reporter: newReporter(m, o.Log, class, http, https),
	}
	m.Add(loop.Options{Name: "ingress-nginx", Reconciler: c, Sources: []loop.Source{
		anyOf(from.ingresses), anyOf(from.classes), anyOf(from.services), anyOf(from.endpoints), anyOf(from.secrets),
	}})
	return m, nil
}

// anyOf asks for everything whenever an object of an informer changes.
func anyOf[T client.Object](i *informer.Informer[T]) loop.Source {
	return loop.Watches(i, func(T) []loop.Request { return []loop.Request{everything} })
}

// cached finds objects in an informer's cache; nil, the zero T, is for those that are not there.
func cached[T client.Object](i *informer.Informer[T]) func(types.NamespacedName) T {
	return func(key types.NamespacedName) T {
		found, _ := i.Indexer().Get(key)
		return found
	}
}

// Reconcile implements controller.Reconciler: it has all that is declared now served, and says what came of it.
func (c *controller) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	class, _ := c.classes.Indexer().Get(types.NamespacedName{Name: c.class})
	if c.reporter.tellOfClass(class); foreign(class) {
		loop.Note(ctx, "the IngressClass %s is another controller's: nothing is changed", c.class)
		return loop.Result{}, c.beginWithNothing(ctx)
	}
	all := c.ingresses.Indexer().List()
	declared := mine(all, class, c.class)
	before := c.settler.served
	problems, again, err := c.settler.settle(ctx, declared)
	if c.settler.served != before {
		loop.Did(ctx, "had nginx serve another configuration")
	}
	if err != nil {
		return loop.Result{}, err
	}
	loop.Note(ctx, "%d Ingresses of the class %s are served, %d with a problem", len(declared), c.class, len(problems))
	after, err := c.reporter.report(ctx, all, declared, problems)
	return loop.Result{RequeueAfter: sooner(again, after)}, err
}

// beginWithNothing has nginx answer 404 to all when it has served nothing yet: whoever asks is to know that it is there.
func (c *controller) beginWithNothing(ctx context.Context) error {
	if c.settler.served != "" {
		return nil
	}
	_, _, err := c.settler.settle(ctx, nil)
	return err
}

// sooner is the shorter of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
