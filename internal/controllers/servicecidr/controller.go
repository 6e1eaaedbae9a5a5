// Package servicecidr implements the controller of ServiceCIDRs, the ranges of addresses for services. It sets their
// condition Ready and their finalizer. A deleted ServiceCIDR is removed when all addresses of services are in other
// ranges, and ten seconds have passed. Until then, the condition Ready is false while addresses need it.
//
// Kubernetes may remove two ServiceCIDRs with the same range while services have addresses of it, if both are deleted
// at the same time. This controller retains one of them until no service has such an address.
//
// decide.go computes the actions from what was observed, without I/O.
package servicecidr

import (
	"context"
	"errors"
	"net/netip"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "service-cidr-controller"

// retryInterval is how soon the removal of a ServiceCIDR is tried again if the server has addresses that the cache does
// not show.
const retryInterval = 10 * time.Second

var (
	resource  = schema.GroupVersionResource{Group: networkingv1.GroupName, Version: "v1", Resource: "servicecidrs"}
	addresses = schema.GroupVersionResource{Group: networkingv1.GroupName, Version: "v1", Resource: "ipaddresses"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		cidrs:     informer.For[*networkingv1.ServiceCIDR](m.Informers(), resource),
		addresses: informer.For[*networkingv1.IPAddress](m.Informers(), addresses),
		executor:  action.NewExecutor(m, Name),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.cidrs),
			controller.Watches(r.cidrs, r.deleted),
			controller.Watches(r.addresses, r.deletedWith, controller.If(cameOrWent)),
		},
	})
}

func cameOrWent(old, now *networkingv1.IPAddress) bool { return old == nil || now == nil }

// reconciler reconciles one ServiceCIDR per request.
type reconciler struct {
	cidrs     *informer.Informer[*networkingv1.ServiceCIDR]
	addresses *informer.Informer[*networkingv1.IPAddress]
	executor  *action.Executor
}

// deleted returns requests for the ServiceCIDRs that are being deleted: they depend on the others.
func (r *reconciler) deleted(*networkingv1.ServiceCIDR) (requests []controller.Request) {
	for _, c := range r.cidrs.Indexer().List() {
		if c.DeletionTimestamp != nil {
			requests = append(requests, informer.KeyOf(c))
		}
	}
	return requests
}

// deletedWith returns requests for the ServiceCIDRs that are being deleted and contain an address.
func (r *reconciler) deletedWith(ip *networkingv1.IPAddress) (requests []controller.Request) {
	for _, c := range r.cidrs.Indexer().List() {
		if c.DeletionTimestamp == nil {
			continue
		}
		if addr, err := netip.ParseAddr(ip.Name); err == nil && contains(c, addr) {
			requests = append(requests, informer.KeyOf(c))
		}
	}
	return requests
}

// Reconcile carries out the next action for a ServiceCIDR.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	c, exists := r.cidrs.Indexer().Get(request)
	if !exists {
		return controller.Result{}, nil
	}
	s := observed{cidrs: r.cidrs.Indexer().List()}
	if c.DeletionTimestamp != nil {
		s.addresses = r.addresses.Indexer().List()
	}
	result, err := r.executor.Do(ctx, decide(c, s, time.Now())...)
	switch {
	case errors.Is(err, action.ErrStaleCache):
		return controller.Result{RequeueAfter: retryInterval}, nil
	case apierrors.IsConflict(err): // the event of the newer version causes another request
		return controller.Result{}, nil
	}
	return result, err
}
