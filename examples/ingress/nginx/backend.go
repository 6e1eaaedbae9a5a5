package nginx

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// backend is a port of a Service to which nginx forwards requests. It has no servers while no endpoint is
// ready.
type backend struct {
	name    string
	servers []netip.AddrPort
}

// backend resolves a backend of an Ingress in a namespace.
func (o objects) backend(namespace string, declared networkingv1.IngressBackend) (backend, *problem) {
	if declared.Service == nil {
		return backend{}, problemf(reasonUnsupportedBackend,
			"a resource as a backend is not supported, only a Service is")
	}
	key := types.NamespacedName{Namespace: namespace, Name: declared.Service.Name}
	service := o.service(key)
	if service == nil {
		return backend{}, problemf(reasonServiceNotFound, "there is no Service %s", key)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return backend{}, problemf(reasonUnsupportedBackend,
			"the Service %s is a name outside of the cluster (ExternalName)", key)
	}
	port := portOf(service, declared.Service.Port)
	if port == nil {
		return backend{}, problemf(reasonPortNotFound, "the Service %s has no TCP port %s", key,
			portText(declared.Service.Port))
	}
	name := namespace + "." + service.Name + "." + strconv.Itoa(int(port.Port))
	return backend{name, serversOf(o.slices(key), port.Name)}, nil
}

// portOf returns the port of a Service that a backend names by number or name.
func portOf(service *corev1.Service, wanted networkingv1.ServiceBackendPort) *corev1.ServicePort {
	for i, port := range service.Spec.Ports {
		tcp := port.Protocol == "" || port.Protocol == corev1.ProtocolTCP
		if named := wanted.Name != "" && port.Name == wanted.Name; tcp &&
			(named || wanted.Name == "" && port.Port == wanted.Number) {
			return &service.Spec.Ports[i]
		}
	}
	return nil
}

func portText(p networkingv1.ServiceBackendPort) string {
	return cmp.Or(p.Name, strconv.Itoa(int(p.Number)))
}

// serversOf returns the endpoints of a Service's port, by its name: the ready endpoints or, if none is ready,
// terminating endpoints that still serve (KEP-1669). Each slice states the port number of its endpoints,
// because a named targetPort may differ between slices.
func serversOf(all []*discoveryv1.EndpointSlice, port string) []netip.AddrPort {
	var ready, leaving []netip.AddrPort
	for _, slice := range all {
		number, ok := slicePort(slice, port)
		if !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			server, ok := addressOf(e, number)
			switch {
			case !ok:
			case e.Conditions.Ready == nil || *e.Conditions.Ready:
				ready = append(ready, server)
			case isTrue(e.Conditions.Serving) && isTrue(e.Conditions.Terminating):
				leaving = append(leaving, server)
			}
		}
	}
	if len(ready) == 0 {
		ready = leaving
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	return slices.Compact(ready) // an endpoint that moves between slices is temporarily in both
}

// slicePort returns the number of a port by its name. A slice of host names has no addresses, so it is
// ignored.
func slicePort(slice *discoveryv1.EndpointSlice, name string) (number uint16, ok bool) {
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return 0, false
	}
	for _, p := range slice.Ports {
		tcp := p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP
		if tcp && p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}

// addressOf returns the address of an endpoint. All its addresses are equivalent, so it uses the first.
func addressOf(e discoveryv1.Endpoint, port uint16) (netip.AddrPort, bool) {
	if len(e.Addresses) == 0 {
		return netip.AddrPort{}, false
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	return netip.AddrPortFrom(address, port), err == nil && address.Zone() == ""
}

func isTrue(b *bool) bool { return b != nil && *b }
