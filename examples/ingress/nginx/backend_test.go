package nginx

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// slice returns an EndpointSlice. Each endpoint is an address, optionally followed by conditions: r(eady),
// s(erving), t(erminating), u(nready).
func slice(port string, number int32, of ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{
		{Name: pointer("other"), Port: pointer(int32(1))}, {Name: pointer(port), Port: pointer(number)},
	}}
	for _, e := range of {
		address, conditions, _ := strings.Cut(e, " ")
		endpoint := discoveryv1.Endpoint{Addresses: []string{address, "10.9.9.9"}}
		if conditions != "" {
			endpoint.Conditions = discoveryv1.EndpointConditions{
				Ready:       pointer(strings.Contains(conditions, "r")),
				Serving:     pointer(strings.ContainsAny(conditions, "rs")),
				Terminating: pointer(strings.Contains(conditions, "t")),
			}
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return s
}

func TestServersAreTheReadyEndpointsOfAllSlices(t *testing.T) {
	t.Parallel()
	names := slice("http", 80, "10.0.0.9")
	names.AddressType = discoveryv1.AddressTypeFQDN
	datagrams := slice("http", 80, "10.0.0.8")
	datagrams.Ports[1].Protocol = pointer(corev1.ProtocolUDP)
	unnamed := slice("", 80, "10.0.0.7")
	unnamed.Ports[1].Name = nil
	type slices = []*discoveryv1.EndpointSlice
	for _, test := range []struct {
		name   string
		port   string
		slices slices
		want   string
	}{
		{"no slice", "http", nil, "[]"},
		{
			"ready is what does not say", "http",
			slices{slice("http", 80, "10.0.0.1", "10.0.0.2 r", "10.0.0.3 u")}, "[10.0.0.1:80 10.0.0.2:80]",
		},
		{
			"several slices, each with its own number for a named port, and both families", "http",
			slices{slice("http", 81, "10.0.0.2"), slice("http", 80, "10.0.0.1"), slice("http", 82, "fd00::1")},
			"[10.0.0.1:80 10.0.0.2:81 [fd00::1]:82]",
		},
		{
			"one that moves from slice to slice", "http",
			slices{slice("http", 80, "10.0.0.1"), slice("http", 80, "10.0.0.1")}, "[10.0.0.1:80]",
		},
		{"what terminates is left out", "http", slices{slice("http", 80, "10.0.0.1 st", "10.0.0.2 r")},
			"[10.0.0.2:80]"},
		{"but where nothing else serves", "http", slices{slice("http", 80, "10.0.0.1 st", "10.0.0.2 t", "10.0.0.3 s")},
			"[10.0.0.1:80]"},
		{"another port", "https", slices{slice("http", 80, "10.0.0.1")}, "[]"},
		{"no addresses, no TCP", "http", slices{names, datagrams}, "[]"},
		{"a port without a name", "", slices{unnamed}, "[10.0.0.7:80]"},
		{"no address at all", "http", slices{slice("http", 80, "")}, "[]"},
	} {
		if got := fmt.Sprint(serversOf(test.slices, test.port)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestBackendPortsAreFoundByNumberOrName(t *testing.T) {
	t.Parallel()
	s := &corev1.Service{ObjectMeta: meta("s"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP},
	}}}
	o := given{
		services: map[string]*corev1.Service{"s": s},
		slices:   map[string][]*discoveryv1.EndpointSlice{"s": {slice("web", 9999, "10.0.0.1")}},
	}.objects()
	for _, test := range []struct {
		port networkingv1.ServiceBackendPort
		want string
	}{
		{networkingv1.ServiceBackendPort{Number: 8080}, "default.s.8080 [10.0.0.1:9999]"},
		{networkingv1.ServiceBackendPort{Name: "web"}, "default.s.8080 [10.0.0.1:9999]"},
		{networkingv1.ServiceBackendPort{Number: 9999}, "PortNotFound: the Service default/s has no TCP port 9999"},
		{networkingv1.ServiceBackendPort{Name: "dns"}, "PortNotFound: the Service default/s has no TCP port dns"},
	} {
		declared := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s",
			Port: test.port}}
		b, p := o.backend("default", declared)
		got := fmt.Sprint(b.name, " ", b.servers)
		if p != nil {
			got = p.reason + ": " + p.message
		}
		if got != test.want {
			t.Errorf("port %v: %s, want %s", test.port, got, test.want)
		}
	}
}
