package aggregate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// found is the state of the Service of an APIService: the addresses of the server, or a condition that explains why
// there are none.
type found struct {
	addresses []string // with ports, sorted
	condition condition
}

func (f *found) equals(other *found) bool {
	return f.condition == other.condition && slices.Equal(f.addresses, other.addresses)
}

// condition is the state of the condition Available.
type condition struct {
	status          apiregistrationv1.ConditionStatus
	reason, message string
}

func unavailable(reason, format string, args ...any) *found {
	return &found{condition: condition{apiregistrationv1.ConditionFalse, reason, fmt.Sprintf(format, args...)}}
}

// look reads the Service of an APIService and its endpoints. After an error, the result says that they cannot be read.
func (a *Aggregator) look(ctx context.Context, s *apiregistrationv1.APIService) (*found, error) {
	ref := s.Spec.Service
	obj, err := a.o.Reader.Get(ctx, services, ref.Namespace, ref.Name)
	reason := "ServiceAccessError"
	var slices []*discoveryv1.EndpointSlice
	if err == nil && obj != nil {
		reason = "EndpointsAccessError"
		err = a.o.Reader.List(ctx, endpointSlices, ref.Namespace, func(obj kind.Object) bool {
			if slice := obj.(*discoveryv1.EndpointSlice); slice.Labels[discoveryv1.LabelServiceName] == ref.Name {
				slices = append(slices, slice)
			}
			return true
		})
	}
	if err != nil {
		return &found{condition: condition{apiregistrationv1.ConditionUnknown, reason,
			fmt.Sprintf("service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)}}, err
	}
	service, _ := obj.(*corev1.Service)
	return find(ref, service, slices), nil
}

// find returns the addresses of a Service, which is nil if it does not exist. There is no kube-proxy that would balance
// its cluster IP: requests go to its endpoints.
func find(ref *apiregistrationv1.ServiceReference, service *corev1.Service,
	all []*discoveryv1.EndpointSlice) *found {
	if service == nil {
		return unavailable("ServiceNotFound", "service/%s in %q is not present", ref.Name, ref.Namespace)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return &found{addresses: []string{join(service.Spec.ExternalName, *ref.Port)}}
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *ref.Port })
	if at < 0 {
		return unavailable("ServicePortError", "service/%s in %q is not listening on port %d", ref.Name, ref.Namespace,
			*ref.Port)
	}
	if len(all) == 0 {
		return unavailable("EndpointsNotFound", "cannot find endpointslices for service/%s in %q", ref.Name,
			ref.Namespace)
	}
	port := service.Spec.Ports[at].Name
	var addresses []string
	for _, slice := range all {
		addresses = append(addresses, ready(slice, port)...)
	}
	if len(addresses) == 0 {
		return unavailable("MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q",
			ref.Name, ref.Namespace, port)
	}
	slices.Sort(addresses)
	return &found{addresses: slices.Compact(addresses)}
}

// ready returns the addresses of the endpoints of a slice that are ready, with the port of that name.
func ready(slice *discoveryv1.EndpointSlice, name string) (addresses []string) {
	for _, p := range slice.Ports {
		if p.Name == nil || *p.Name != name || p.Port == nil {
			continue
		}
		for _, e := range slice.Endpoints {
			if (e.Conditions.Ready == nil || *e.Conditions.Ready) && len(e.Addresses) > 0 {
				addresses = append(addresses, join(e.Addresses[0], *p.Port))
			}
		}
	}
	return addresses
}

func join(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
