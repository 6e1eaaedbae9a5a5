package caller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

var (
	services       = schema.GroupResource{Resource: "services"}
	endpointSlices = schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}
)

// Reader gives access to the Services and EndpointSlices of a server. An admission.Reader implements it.
type Reader interface {
	// Get returns nil without an error if the object does not exist.
	Get(ctx context.Context, resource schema.GroupResource, namespace, name string) (kind.Object, error)
	// List calls yield for each object of a resource in a namespace until yield returns false.
	List(ctx context.Context, resource schema.GroupResource, namespace string, yield func(kind.Object) bool) error
}

// ResolveServices returns a Resolver that looks up Services in state, with ctx. The address is a Service's external
// name; or a random ready endpoint, as for a kube-apiserver with --enable-aggregator-routing; or else the
// cluster IP, which this host must be able to route.
func ResolveServices(ctx context.Context, state Reader) Resolver {
	return func(namespace, name string, port int32) (string, error) {
		obj, err := state.Get(ctx, services, namespace, name)
		if err != nil {
			return "", err
		}
		service, ok := obj.(*corev1.Service)
		if !ok {
			// with Kubernetes' resource name
			return "", apierrors.NewNotFound(schema.GroupResource{Resource: "service"}, name)
		}
		if service.Spec.Type == corev1.ServiceTypeExternalName {
			return join(service.Spec.ExternalName, port), nil
		}
		at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
		var ready []string
		if at >= 0 {
			if ready, err = endpoints(ctx, state, service, service.Spec.Ports[at].Name); err != nil {
				return "", err
			}
		}
		switch {
		case len(ready) > 0:
			return ready[rand.IntN(len(ready))], nil
		case service.Spec.ClusterIP == corev1.ClusterIPNone:
			return "", errors.New(`cannot route to service with ClusterIP "None"`)
		case at < 0:
			return "",
				apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, name))
		}
		return join(service.Spec.ClusterIP, port), nil
	}
}

// endpoints returns the addresses of the ready endpoints of a Service's port, by the port's name.
func endpoints(ctx context.Context, state Reader, service *corev1.Service, port string) (ready []string, err error) {
	err = state.List(ctx, endpointSlices, service.Namespace, func(obj kind.Object) bool {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			return true
		}
		for _, p := range slice.Ports {
			if p.Name == nil || *p.Name != port || p.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				if len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					ready = append(ready, join(e.Addresses[0], *p.Port))
				}
			}
		}
		return true
	})
	return ready, err
}

func join(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
