package nginx

import (
	"context"

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

// controller has a server serve what the objects declare.
type controller struct {
	class     string
	ingresses *informer.Indexer[*networkingv1.Ingress]
	classes   *informer.Indexer[*networkingv1.IngressClass]
	settler   *settler
	reporter  *reporter
}

// newManager makes a controller for a server, and the manager that runs it, with these options of its own.
func newManager(config *rest.Config, o loop.ManagerOptions, class string, http, https address, to server) (*loop.Manager, error) {
	m, err := loop.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	ingresses := informer.For[*networkingv1.Ingress](m.Informers(), networkingv1.SchemeGroupVersion.WithResource("ingresses"))
	classes := informer.For[*networkingv1.IngressClass](m.Informers(), networkingv1.SchemeGroupVersion.WithResource("ingressclasses"))
	services := informer.For[*corev1.Service](m.Informers(), corev1.SchemeGroupVersion.WithResource("services"))
	endpoints := informer.For[*discoveryv1.EndpointSlice](m.Informers(), discoveryv1.SchemeGroupVersion.WithResource("endpointslices"))
	secrets := informer.For[*corev1.Secret](m.Informers(), corev1.SchemeGroupVersion.WithResource("secrets"),
		informer.Scope{Fields: fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS))})
	endpoints.Indexer().AddIndex(byService, serviceOf)

	certificates := newCertificates(cached(secrets))
	all := objects{service: cached(services), certificate: certificates.file, slices: func(key types.NamespacedName) []*discoveryv1.EndpointSlice {
		found, err := endpoints.Indexer().ByIndex(byService, key.String())
		if err != nil {
			panic(err) // the index was added above
		}
		return found
	}}
	c := &controller{
		class: class, ingresses: ingresses.Indexer(), classes: classes.Indexer(),
		settler: newSettler(to, listening{http.directive(), https.directive()}, all, certificates),
		reporter: &reporter{
			ingresses: client.For[*networkingv1.Ingress](m.Client()), events: m.Recorder("ingress-nginx"),
			log: o.Log, http: http, https: https,
		},
	}
	m.Add(loop.Options{Name: "ingress-nginx", Reconciler: c, Sources: []loop.Source{
		anyOf(ingresses), anyOf(classes), anyOf(services), anyOf(endpoints), anyOf(secrets),
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

func serviceOf(s *discoveryv1.EndpointSlice) []string {
	return []string{types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}.String()}
}

// Reconcile implements controller.Reconciler: it has all that is declared now served, and says what came of it.
func (c *controller) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	declared, err := mine(c.ingresses.List(), c.classes.List(), c.class)
	if err != nil {
		return loop.Result{}, loop.Terminal(err) // until the class changes
	}
	problems, err := c.settler.settle(ctx, declared)
	if err != nil {
		return loop.Result{}, err
	}
	loop.Note(ctx, "%d Ingresses of the class %s are served, %d with a problem", len(declared), c.class, len(problems))
	return loop.Result{}, c.reporter.report(ctx, declared, problems)
}
