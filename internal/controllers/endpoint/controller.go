//lint:file-ignore SA1019 Kubernetes keeps its deprecated endpoints still

// Package endpoint is the controller that says at which addresses and ports the pods behind a service are reached, in the
// Endpoints of the service's name: the kind that was there before EndpointSlices (see package endpointslice), and that old
// clients read.
//
// decide.go is what it does, of nothing but what was seen; subsets.go is their form. This file reads the cache and writes.
package endpoint

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/backend"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "endpoint"

// workers is how many services are worked on at a time, and patience how long somebody else's change of endpoints stands: whoever
// made it may know more.
const (
	workers  = 5
	patience = time.Second
)

var resource = corev1.SchemeGroupVersion.WithResource("endpoints")

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		services:  informer.For[*corev1.Service](m.Informers(), backend.Services),
		pods:      informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		endpoints: informer.For[*corev1.Endpoints](m.Informers(), resource),
		hand:      action.NewHand(m, "endpoint-controller"),
	}
	sameName := func(e *corev1.Endpoints) []controller.Request { return []controller.Request{informer.KeyOf(e)} }
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.services),
			controller.Watches(r.pods, backend.Before(r.services), controller.If(backend.Changed)),
			controller.WatchesLater(r.endpoints, patience, sameName, controller.If(ours)),
		},
		Workers: workers,
	})
}

// reconciler says where the pods of one service at a time are reached.
type reconciler struct {
	services  *informer.Informer[*corev1.Service]
	pods      *informer.Informer[*corev1.Pod]
	endpoints *informer.Informer[*corev1.Endpoints]
	hand      *action.Hand
}

// ours passes endpoints that the controller has made, and any that go. Those that somebody makes before their service wait for
// it.
func ours(old, now *corev1.Endpoints) bool {
	return now == nil || now.Labels[managedBy] == manager || old != nil && old.Labels[managedBy] == manager
}

// Reconcile makes the endpoints of a service what they should be. When a service has gone they go, whosever they are. A service
// that the server has and the cache does not will be seen, and that is when it is reconciled again.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	seen := Seen{}
	seen.Endpoints, _ = r.endpoints.Indexer().Get(request)
	service, err := r.services.Lister().Get(request.Namespace, request.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, err
	}
	if err == nil {
		seen.Service = service
		if backend.HasSelector(service) {
			seen.Pods = backend.Of(service, r.pods)
		}
	}
	result, err := r.hand.Do(ctx, Decide(seen)...)
	if errors.Is(err, action.ErrBehind) {
		controller.Note(ctx, "%v", err)
		return result, nil
	}
	return result, err
}
