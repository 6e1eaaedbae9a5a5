//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

// Package endpointslicemirroring implements the controller that copies the Endpoints of services without a selector,
// which users write, to EndpointSlices, which clients read. Each subset has a slice per address family. Unlike
// Kubernetes' controller, it preserves the finalizers of a slice that it updates, and before each change of slices asks
// the server whether the object on which the change depends is unchanged.
//
// decide.go computes the actions from what was observed, without I/O; subset.go computes the desired slices. This
// file reads the cache and writes. Packages endpoint and endpointslice serve the services with a selector.
package endpointslicemirroring

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "endpointslicemirroring"

// workers is the number of Endpoints reconciled concurrently. overwriteDelay is how long a change by another writer
// stands before it is overwritten: the writer may have newer information.
const (
	workers        = 5
	overwriteDelay = time.Second
)

var (
	sources = corev1.SchemeGroupVersion.WithResource("endpoints")
	mirrors = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		endpoints: informer.For[*corev1.Endpoints](m.Informers(), sources),
		services:  informer.For[*corev1.Service](m.Informers(), backend.Services),
		slices:    informer.For[*discoveryv1.EndpointSlice](m.Informers(), mirrors),
		executor:  action.NewExecutor(m, "endpoint-slice-mirroring-controller"),
	}
	r.slices.Indexer().AddIndex("mirrored", func(slice *discoveryv1.EndpointSlice) (keys []string) {
		for _, request := range endpointsOf(slice) {
			keys = append(keys, request.String())
		}
		return keys
	})
	sameName := func(service *corev1.Service) []controller.Request {
		return []controller.Request{informer.KeyOf(service)}
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.endpoints),
			controller.Watches(r.services, sameName),
			controller.WatchesLater(r.slices, overwriteDelay, endpointsOf),
		},
		Workers: workers,
	})
}

// reconciler reconciles the slices of one Endpoints object per request.
type reconciler struct {
	endpoints *informer.Informer[*corev1.Endpoints]
	services  *informer.Informer[*corev1.Service]
	slices    *informer.Informer[*discoveryv1.EndpointSlice]
	executor  *action.Executor
}

// endpointsOf returns the Endpoints that a slice of this controller mirrors.
func endpointsOf(slice *discoveryv1.EndpointSlice) []controller.Request {
	name := slice.Labels[discoveryv1.LabelServiceName]
	if slice.Labels[discoveryv1.LabelManagedBy] != managedBy || name == "" {
		return nil
	}
	return []controller.Request{{Namespace: slice.Namespace, Name: name}}
}

// Reconcile creates, updates and deletes the slices of an Endpoints object.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	input, err := r.observe(request)
	if err != nil {
		return controller.Result{}, err
	}
	result, err := r.executor.Do(ctx, Decide(input)...)
	if errors.Is(err, action.ErrStaleCache) { // the next event of the object that has changed triggers a reconcile
		controller.Note(ctx, "%v", err)
		return result, nil
	}
	return result, err
}

// observe assembles the input of a decision from the cache.
func (r *reconciler) observe(request controller.Request) (Input, error) {
	s := Input{
		Key: request,
		NameTaken: func(name string) bool {
			_, exists := r.slices.Indexer().Get(informer.Key{Namespace: request.Namespace, Name: name})
			return exists
		},
	}
	var err error
	if s.Endpoints, err = cached(r.endpoints, request); err != nil {
		return s, err
	}
	if s.Service, err = cached(r.services, request); err != nil {
		return s, err
	}
	for slice := range r.slices.Indexer().Each("mirrored", request.String()) {
		if slice.DeletionTimestamp == nil {
			s.Slices = append(s.Slices, slice)
		}
	}
	return s, nil
}

// cached returns the object that a request names, or nil if it does not exist.
func cached[T client.Object](in *informer.Informer[T], request controller.Request) (obj T, err error) {
	obj, err = in.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		return *new(T), nil
	}
	return obj, err
}
