package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// fieldManager is the field manager of the EndpointSlice and the value of its managed-by label.
const fieldManager = "bowline-backend"

// endpoint registers an address as an endpoint of a Service, in its own EndpointSlice.
type endpoint struct {
	services           client.Resource[*corev1.Service]
	slices             client.Resource[*discoveryv1.EndpointSlice]
	namespace, service string
	slice              string // derived from the service and the address, so that a restarted backend reuses it
	address            *net.TCPAddr
	joined             bool
}

func newEndpoint(c *client.Client, namespace, service string, address *net.TCPAddr) *endpoint {
	place := strings.NewReplacer(".", "-", ":", "-").Replace(address.IP.String())
	return &endpoint{
		services: client.For[*corev1.Service](c), slices: client.For[*discoveryv1.EndpointSlice](c),
		namespace: namespace, service: service, slice: fmt.Sprintf("%s-%s-%d", service, place, address.Port),
		address: address,
	}
}

// keep adds a control loop to a manager that maintains the EndpointSlice while the service exists: it follows
// the service's ports and restores the slice if it is deleted.
func (e *endpoint) keep(m *loop.Manager) {
	called := func(name string) informer.Scope {
		return informer.Scope{Namespace: e.namespace, Fields: fields.OneTermEqualSelector("metadata.name", name)}
	}
	own := func(*discoveryv1.EndpointSlice) []loop.Request {
		return []loop.Request{{Namespace: e.namespace, Name: e.service}}
	}
	services := corev1.SchemeGroupVersion.WithResource("services")
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	m.Add(loop.Options{Name: fieldManager, Reconciler: e, Sources: []loop.Source{
		loop.For(informer.For[*corev1.Service](m.Informers(), services, called(e.service))),
		loop.Watches(informer.For[*discoveryv1.EndpointSlice](m.Informers(), slices, called(e.slice)), own),
	}})
}

// requestTimeout bounds a registration that is under way when the backend is stopped.
const requestTimeout = 10 * time.Second

// Reconcile implements controller.Reconciler. It completes its write after the end of ctx: the server may carry out a
// canceled write after leave has deleted the EndpointSlice.
func (e *endpoint) Reconcile(ctx context.Context, _ loop.Request) (loop.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	err := e.join(ctx)
	if !apierrors.IsNotFound(err) {
		return loop.Result{}, err
	}
	if err := e.leave(ctx); err != nil {
		return loop.Result{}, err
	}
	if e.joined {
		slog.Warn("service " + e.service + " was deleted: it has no endpoint here until it is created again")
	}
	e.joined = false
	return loop.Result{}, nil
}

// join makes the address an endpoint of all TCP ports of the service.
func (e *endpoint) join(ctx context.Context) error {
	service, err := e.services.Get(ctx, e.namespace, e.service)
	if err != nil {
		return fmt.Errorf("read the service in namespace %s: %w", e.namespace, err)
	}
	ready, family := true, discoveryv1.AddressTypeIPv4
	if e.address.IP.To4() == nil {
		family = discoveryv1.AddressTypeIPv6
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, Name: e.slice,
			Labels: map[string]string{discoveryv1.LabelServiceName: e.service,
				discoveryv1.LabelManagedBy: fieldManager},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service,
				corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: family,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{e.address.IP.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		}},
		Ports: e.ports(service),
	}
	if _, err := e.slices.ApplyObject(ctx, slice,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return err
	}
	if !e.joined {
		slog.Info("serving as an endpoint of service "+e.service, "address", e.address.String(), "endpointslice",
			e.slice)
	}
	e.joined = true
	return nil
}

// ports returns the service's TCP ports by name, each with the port number of the listener.
func (e *endpoint) ports(service *corev1.Service) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, p := range service.Spec.Ports {
		if p.Protocol == corev1.ProtocolTCP {
			number := int32(e.address.Port)
			ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &number})
		}
	}
	return ports
}

// leave deletes the EndpointSlice.
func (e *endpoint) leave(ctx context.Context) error {
	err := e.slices.Delete(ctx, e.namespace, e.slice, metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the endpoint could not be removed, and does not answer: run kubectl delete endpointslice --namespace %s %s (%w)",
		e.namespace, e.slice, err)
}
