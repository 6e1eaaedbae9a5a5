//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

// Package endpoint implements the controller that publishes the addresses and ports of a service's pods in
// the Endpoints object of the service's name. Endpoints precede EndpointSlices (see package endpointslice)
// and serve old clients.
//
// decide.go computes the actions from what was observed, without I/O; subsets.go builds the subsets. This
// file reads the cache and writes.
package endpoint

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "endpoint"

// workers is the number of services reconciled concurrently. overwriteDelay is how long a change by another writer
// stands before it is overwritten: the writer may have newer information.
const (
	workers        = 5
	overwriteDelay = time.Second
)

var resource = corev1.SchemeGroupVersion.WithResource("endpoints")

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		services:  informer.For[*corev1.Service](m.Informers(), backend.Services),
		pods:      informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		endpoints: informer.For[*corev1.Endpoints](m.Informers(), resource),
		executor:  action.NewExecutor(m, "endpoint-controller"),
	}
	sameName := func(e *corev1.Endpoints) []controller.Request { return []controller.Request{informer.KeyOf(e)} }
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.services),
			controller.Watches(r.pods, backend.ServicesOf(r.services), controller.If(backend.PodChanged)),
			controller.WatchesLater(r.endpoints, overwriteDelay, sameName, controller.If(matters)),
		},
		Workers: workers,
	})
}

// reconciler reconciles the Endpoints of one service per request.
type reconciler struct {
	services  *informer.Informer[*corev1.Service]
	pods      *informer.Informer[*corev1.Pod]
	endpoints *informer.Informer[*corev1.Endpoints]
	executor  *action.Executor
}

// matters reports whether a change is a deletion, or concerns Endpoints that this controller has created. Endpoints
// that a user creates before their service trigger nothing; the service will.
func matters(old, now *corev1.Endpoints) bool {
	return now == nil || now.Labels[managedBy] == manager || old != nil && old.Labels[managedBy] == manager
}

// Reconcile creates, updates or deletes the Endpoints of a service. When the service is gone, its Endpoints
// are deleted, regardless of their creator. If the server has the service but the cache does not, its arrival
// in the cache triggers another reconcile.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	input := Input{}
	input.Endpoints, _ = r.endpoints.Indexer().Get(request)
	service, err := r.services.Lister().Get(request.Namespace, request.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, err
	}
	if err == nil {
		input.Service = service
		if backend.HasSelector(service) {
			input.Pods = backend.Pods(service, r.pods)
		}
	}
	result, err := r.executor.Do(ctx, Decide(input)...)
	if errors.Is(err, action.ErrStaleCache) {
		controller.Note(ctx, "%v", err)
		return result, nil
	}
	return result, err
}
