// Package serviceaccount implements the controller that provides each namespace with the ServiceAccount
// "default" and the ConfigMap "kube-root-ca.crt", which has the server's CA certificates. Deleted ones are
// recreated, except in terminating namespaces.
//
// It combines Kubernetes' controllers serviceaccount and root-ca-certificate-publisher. It does not handle
// tokens. decide.go computes the actions from what was observed, without I/O.
package serviceaccount

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "serviceaccount"

// workers is the number of namespaces processed concurrently.
const workers = 4

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Add adds the controller to a manager. It publishes the manager's Authority.
func Add(m *controller.Manager) *controller.Controller {
	p := &provider{
		authority:  string(m.Authority()),
		namespaces: informer.For[*corev1.Namespace](m.Informers(), namespaces),
		accounts:   informer.For[*corev1.ServiceAccount](m.Informers(), accounts, named(DefaultAccount)),
		bundles:    informer.For[*corev1.ConfigMap](m.Informers(), configMaps, named(Bundle)),
		executor:   action.NewExecutor(m, "serviceaccount-controller"),
	}
	return m.Add(controller.Options{
		Name: Name, Reconciler: p, Workers: workers,
		Sources: []controller.Source{
			controller.For(p.namespaces),
			controller.Watches(p.accounts, namespaceOf[*corev1.ServiceAccount]),
			controller.Watches(p.bundles, namespaceOf[*corev1.ConfigMap]),
		},
	})
}

// named limits a cache to objects of a name, in all namespaces.
func named(name string) informer.Scope {
	return informer.Scope{Fields: fields.OneTermEqualSelector("metadata.name", name)}
}

func namespaceOf[T client.Object](obj T) []controller.Request {
	return []controller.Request{{Name: obj.GetNamespace()}}
}

// provider reconciles one namespace per request.
type provider struct {
	authority  string
	namespaces *informer.Informer[*corev1.Namespace]
	accounts   *informer.Informer[*corev1.ServiceAccount]
	bundles    *informer.Informer[*corev1.ConfigMap]
	executor   *action.Executor
	// backoff delays writes of the bundle in a conflict loop with a controller that publishes other
	// certificates.
	backoff action.StatusBackoff[bundleContent]
}

// Reconcile creates or updates the objects of a namespace.
func (p *provider) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	namespace, err := p.namespaces.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		p.backoff.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	s := input{namespace: namespace, authority: p.authority}
	if s.account, err = cached(p.accounts, informer.Key{Namespace: namespace.Name, Name: DefaultAccount}); err != nil {
		return controller.Result{}, err
	}
	if s.bundle, err = cached(p.bundles, informer.Key{Namespace: namespace.Name, Name: Bundle}); err != nil {
		return controller.Result{}, err
	}
	var wait time.Duration
	if s.bundle != nil {
		wait = p.backoff.Delay(request, contentOf(s.bundle), s.next())
	}
	result, err := p.executor.Do(ctx, decide(s, wait)...)
	if err == nil && wait == 0 {
		p.backoff.Written(request, s.next())
	}
	return result, err
}

// cached returns a cached object, or nil. An object that cannot be decoded is an error, since it exists.
func cached[T client.Object](in *informer.Informer[T], key informer.Key) (obj T, err error) {
	if obj, err = in.Indexer().Find(key); apierrors.IsNotFound(err) {
		return obj, nil
	}
	return obj, err
}
