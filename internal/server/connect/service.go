package connect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

var endpointSlices = schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}

// serviceTarget returns the target of a proxy to a service: a random ready endpoint that is a pod of the namespace.
// A port is that of the service, by its name or number.
func (c *Connector) serviceTarget(ctx context.Context, req *request.Request, path string) (*target, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(req.Name)
	if !valid {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", req.Name))
	}
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		service, err := get[*corev1.Service](ctx, c, services, req.Namespace, name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number })
		if i < 0 {
			return nil, apierrors.NewServiceUnavailable(
				fmt.Sprintf("no service port %d found for service %q", number, name))
		}
		port = service.Spec.Ports[i].Name
	}
	all, err := c.slicesOf(ctx, req.Namespace, name)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b *discoveryv1.EndpointSlice) int { return family(a) - family(b) })
	for _, slice := range all {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != port || len(slice.Endpoints) == 0 {
				continue
			}
			first := rand.IntN(len(slice.Endpoints))
			for i := range slice.Endpoints {
				endpoint := &slice.Endpoints[(first+i)%len(slice.Endpoints)]
				if pod := c.readyPod(ctx, req.Namespace, endpoint); pod != nil {
					if err := c.rejectSimulated(ctx, pod); err != nil {
						return nil, err
					}
					return c.proxyTo(scheme, endpoint.Addresses[0], strconv.Itoa(int(*p.Port)), path), nil
				}
			}
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

// family orders the slices of a service with two families of addresses: IPv4, the server's own, first.
func family(slice *discoveryv1.EndpointSlice) int {
	if slice.AddressType == discoveryv1.AddressTypeIPv4 {
		return 0
	}
	return 1
}

// slicesOf returns the EndpointSlices of a service. It decodes no others.
func (c *Connector) slicesOf(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	k, served := c.o.Kinds.Stored(endpointSlices)
	if !served {
		return nil, nil
	}
	snapshot, err := c.o.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return nil, err
	}
	var found []*discoveryv1.EndpointSlice
	label := object.MarkLabel(discoveryv1.LabelServiceName, service)
	snapshot.Select(object.Prefix(endpointSlices, namespace), "", func(m object.Mark) bool { return m.MayHave(label) },
		func(o *object.Object) bool {
			if o.Labels[discoveryv1.LabelServiceName] != service {
				return true
			}
			decoded, failed := stored.Read(k, o)
			if err = failed; err == nil {
				found = append(found, decoded.(*discoveryv1.EndpointSlice))
			}
			return err == nil
		})
	return found, err
}

// readyPod returns the pod of an endpoint; nil if the endpoint is not ready, or is not an address of a pod in the
// namespace: others could make the server send requests anywhere.
func (c *Connector) readyPod(ctx context.Context, namespace string, e *discoveryv1.Endpoint) *corev1.Pod {
	ref := e.TargetRef
	if e.Conditions.Ready != nil && !*e.Conditions.Ready || ref == nil || ref.Namespace != namespace ||
		len(e.Addresses) == 0 || !proxyable(e.Addresses[0]) {
		return nil
	}
	pod, err := get[*corev1.Pod](ctx, c, pods, namespace, ref.Name)
	if err != nil || !slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool {
		return ip.IP == e.Addresses[0]
	}) {
		return nil
	}
	return pod
}
