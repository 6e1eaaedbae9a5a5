// Package serviceaccount is the controller that gives each namespace what pods and operators count on: the ServiceAccount
// "default", and the ConfigMap "kube-root-ca.crt" with the certificates by which the server is known. Who deletes one gets it
// again; a namespace that ends gets nothing.
//
// It is what Kubernetes divides among the controllers serviceaccount and root-ca-certificate-publisher. Tokens are not its
// business. decide.go is what it does, of nothing but what was seen.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Name of the controller, as --controllers takes it.
const Name = "serviceaccount"

// workers is how many namespaces are seen to at a time.
const workers = 4

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Add adds the controller to a manager. The certificates are the manager's Authority.
func Add(m *controller.Manager) *controller.Controller {
	p := &provider{
		authority:  string(m.Authority()),
		namespaces: informer.For[*corev1.Namespace](m.Informers(), namespaces),
		accounts:   informer.For[*corev1.ServiceAccount](m.Informers(), accounts, named(DefaultAccount)),
		bundles:    informer.For[*corev1.ConfigMap](m.Informers(), configMaps, named(Bundle)),
		hand:       action.NewHand(m, "serviceaccount-controller"),
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

// named are the objects of that name, in all namespaces: the caches hold no others.
func named(name string) informer.Scope {
	return informer.Scope{Fields: fields.OneTermEqualSelector("metadata.name", name)}
}

func namespaceOf[T client.Object](obj T) []controller.Request {
	return []controller.Request{{Name: obj.GetNamespace()}}
}

// provider sees to one namespace at a time.
type provider struct {
	authority  string
	namespaces *informer.Informer[*corev1.Namespace]
	accounts   *informer.Informer[*corev1.ServiceAccount]
	bundles    *informer.Informer[*corev1.ConfigMap]
	hand       *action.Hand
	// told is what bundles say: two that know the server by other certificates correct each other ever later.
	told action.Told[said]
}

// Reconcile makes what the namespace lacks.
func (p *provider) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	namespace, err := p.namespaces.Indexer().Find(request)
	if apierrors.IsNotFound(err) {
		p.told.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	s := seen{namespace: namespace, authority: p.authority}
	if s.account, err = found(p.accounts, informer.Key{Namespace: namespace.Name, Name: DefaultAccount}); err != nil {
		return controller.Result{}, err
	}
	if s.bundle, err = found(p.bundles, informer.Key{Namespace: namespace.Name, Name: Bundle}); err != nil {
		return controller.Result{}, err
	}
	var wait time.Duration
	if s.bundle != nil {
		wait = p.told.Wait(request, saidIn(s.bundle), s.next())
	}
	result, err := p.hand.Do(ctx, decide(s, wait)...)
	if err == nil && wait == 0 {
		p.told.Said(request, s.next())
	}
	return result, err
}

// found is a cached object, or nil. One that cannot be read is an error: it is there.
func found[T client.Object](in *informer.Informer[T], key informer.Key) (obj T, err error) {
	if obj, err = in.Indexer().Find(key); apierrors.IsNotFound(err) {
		return obj, nil
	}
	return obj, err
}
