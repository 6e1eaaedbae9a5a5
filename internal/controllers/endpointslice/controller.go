// Package endpointslice is the controller that says at which addresses and ports the pods behind a service are reached: in
// EndpointSlices, each with some of them. A pod that is not ready is in them too, and says so; so is one that is ending.
//
// decide.go is which slices there should be, of nothing but what was seen; share.go puts endpoints into slices such that few of
// these change; hints.go says who should use which. This file reads the cache and writes. Package endpoint is the same for the
// older kind.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/backend"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "endpointslice"

// workers is how many services are worked on at a time, and patience how long somebody else's change of a slice stands: whoever
// made it may know more.
const (
	workers  = 5
	patience = time.Second
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
		hand:     action.NewHand(m, "endpoint-slice-controller"),
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
			controller.Watches(r.pods, backend.Before(r.services), controller.If(backend.Changed)),
			controller.WatchesLater(r.slices, patience, serviceOf),
			controller.Watches(r.nodes, r.before, controller.If(zoned)),
		},
		Workers: workers,
	})
}

// reconciler says where the pods of one service at a time are reached.
type reconciler struct {
	services *informer.Informer[*corev1.Service]
	pods     *informer.Informer[*corev1.Pod]
	slices   *informer.Informer[*discoveryv1.EndpointSlice]
	nodes    *informer.Informer[*corev1.Node]
	hand     *action.Hand
}

// serviceOf is the service that a slice of this controller's is about.
func serviceOf(slice *discoveryv1.EndpointSlice) []controller.Request {
	name := slice.Labels[discoveryv1.LabelServiceName]
	if !ours(slice) || name == "" {
		return nil
	}
	return []controller.Request{{Namespace: slice.Namespace, Name: name}}
}

// before finds the services that pods of a node are behind.
func (r *reconciler) before(node *corev1.Node) (requests []controller.Request) {
	services := backend.Before(r.services)
	for pod := range r.pods.Indexer().Each("node", node.Name) {
		requests = append(requests, services(pod)...)
	}
	return requests
}

// zoned passes nodes that come, go or move to another zone.
func zoned(old, now *corev1.Node) bool {
	return old == nil || now == nil || zone(old) != zone(now)
}

// Reconcile makes the slices of a service what they should be.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	service, err := r.services.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) || err == nil && !backend.HasSelector(service) {
		return controller.Result{}, nil // what belonged to it is the garbage collector's, or somebody else's
	}
	if err != nil {
		return controller.Result{}, err
	}
	result, err := r.hand.Do(ctx, Decide(r.see(service))...)
	switch {
	case errors.Is(err, action.ErrBehind): // the cache will show the service as it is, which is a reason to look again
		controller.Note(ctx, "%v", err)
		return result, nil
	case err != nil && !apierrors.IsConflict(err):
		r.hand.Events.Warning(service, failed, "%s%v", failure(service), err)
	}
	return result, err
}

// failed is the reason of the event about what could not be said.
const failed = "FailedToUpdateEndpointSlices"

func failure(service *corev1.Service) string {
	return fmt.Sprintf("Error updating Endpoint Slices for Service %s/%s: ", service.Namespace, service.Name)
}

// see reads the cache.
func (r *reconciler) see(service *corev1.Service) Seen {
	s := Seen{
		Service: service, Pods: backend.Of(service, r.pods),
		Node: func(name string) *corev1.Node {
			node, _ := r.nodes.Indexer().Get(informer.Key{Name: name})
			return node
		},
		Taken: func(name string) bool {
			_, taken := r.slices.Indexer().Get(informer.Key{Namespace: service.Namespace, Name: name})
			return taken
		},
	}
	for slice := range r.slices.Indexer().Each("service", service.Namespace+"/"+service.Name) {
		if ours(slice) && slice.DeletionTimestamp == nil {
			s.Slices = append(s.Slices, slice)
		}
	}
	return s
}

// ours says whether a slice is this controller's: others may make slices for a service too.
func ours(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == managedBy
}
