// Package endpointslice implements the controller that publishes the addresses and ports of a service's pods
// in EndpointSlices. Unready and terminating pods are included and marked by the endpoint's conditions.
//
// decide.go computes the slices from what was observed, without I/O; distribute.go distributes endpoints over
// slices such that few slices change; hints.go sets the routing hints. This file reads the cache and writes.
// Package endpoint does the same for the older kind Endpoints.
package endpointslice

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "endpointslice"

// workers is the number of services reconciled concurrently. overwriteDelay is how long a change by another writer
// stands before it is overwritten: the writer may have newer information.
const (
	workers        = 5
	overwriteDelay = time.Second
)

var (
	resource = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	nodes    = corev1.SchemeGroupVersion.WithResource("nodes")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		services: informer.For[*corev1.Service](m.Informers(), backend.Services),
		pods:     informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		slices:   informer.For[*discoveryv1.EndpointSlice](m.Informers(), resource),
		nodes:    informer.For[*corev1.Node](m.Informers(), nodes),
		executor: action.NewExecutor(m, "endpoint-slice-controller"),
	}
	r.slices.Indexer().AddIndex("service", func(slice *discoveryv1.EndpointSlice) []string {
		return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}
	})
	r.pods.Indexer().AddIndex("node", informer.ByNodeName)
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.services),
			controller.Watches(r.pods, backend.ServicesOf(r.services), controller.If(backend.PodChanged)),
			controller.WatchesLater(r.slices, overwriteDelay, serviceOf),
			controller.Watches(r.nodes, r.servicesOnNode, controller.If(zoneChanged)),
		},
		Workers: workers,
	})
}

// reconciler reconciles the slices of one service per request.
type reconciler struct {
	services *informer.Informer[*corev1.Service]
	pods     *informer.Informer[*corev1.Pod]
	slices   *informer.Informer[*discoveryv1.EndpointSlice]
	nodes    *informer.Informer[*corev1.Node]
	executor *action.Executor
}

// serviceOf returns the service of a slice that this controller manages.
func serviceOf(slice *discoveryv1.EndpointSlice) []controller.Request {
	name := slice.Labels[discoveryv1.LabelServiceName]
	if !isManaged(slice) || name == "" {
		return nil
	}
	return []controller.Request{{Namespace: slice.Namespace, Name: name}}
}

// servicesOnNode returns the services of the pods on a node.
func (r *reconciler) servicesOnNode(node *corev1.Node) (requests []controller.Request) {
	services := backend.ServicesOf(r.services)
	for pod := range r.pods.Indexer().Each("node", node.Name) {
		requests = append(requests, services(pod)...)
	}
	return requests
}

// zoneChanged reports whether a node was created, deleted or moved to another zone.
func zoneChanged(old, now *corev1.Node) bool {
	return old == nil || now == nil || zone(old) != zone(now)
}

// Reconcile creates, updates and deletes the slices of a service.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	service, err := r.services.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) || err == nil && !backend.HasSelector(service) {
		return controller.Result{}, nil // its slices are left to the garbage collector, or managed by another client
	}
	if err != nil {
		return controller.Result{}, err
	}
	result, err := r.executor.Do(ctx, Decide(r.observe(service))...)
	switch {
	case errors.Is(err, action.ErrStaleCache): // the service's next event triggers a reconcile
		controller.Note(ctx, "%v", err)
		return result, nil
	case err != nil && !apierrors.IsConflict(err):
		r.executor.Recorder.Warning(service, reasonFailed, "%s%v", failureMessage(service), err)
	}
	return result, err
}

// reasonFailed is the reason of the event about a failed reconcile.
const reasonFailed = "FailedToUpdateEndpointSlices"

func failureMessage(service *corev1.Service) string {
	return fmt.Sprintf("Error updating Endpoint Slices for Service %s/%s: ", service.Namespace, service.Name)
}

// observe assembles the input of a decision from the cache.
func (r *reconciler) observe(service *corev1.Service) Input {
	s := Input{
		Service: service, Pods: backend.Pods(service, r.pods),
		Node: func(name string) *corev1.Node {
			node, _ := r.nodes.Indexer().Get(informer.Key{Name: name})
			return node
		},
		NameTaken: func(name string) bool {
			_, exists := r.slices.Indexer().Get(informer.Key{Namespace: service.Namespace, Name: name})
			return exists
		},
	}
	for slice := range r.slices.Indexer().Each("service", service.Namespace+"/"+service.Name) {
		if isManaged(slice) && slice.DeletionTimestamp == nil {
			s.Slices = append(s.Slices, slice)
		}
	}
	return s
}

// isManaged reports whether this controller manages a slice; a service may have slices of other managers.
func isManaged(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == managedBy
}
