package nginx

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// given contains the objects of a test. A Service that is not listed exists, with one endpoint.
type given struct {
	services map[string]*corev1.Service
	slices   map[string][]*discoveryv1.EndpointSlice
	files    map[string]string // by name of the Secret
}

func (g given) objects() objects {
	return objects{
		service: func(key types.NamespacedName) *corev1.Service {
			if s, ok := g.services[key.Name]; ok {
				return s
			}
			return service(key.Name)
		},
		slices: func(key types.NamespacedName) []*discoveryv1.EndpointSlice {
			if s, ok := g.slices[key.Name]; ok {
				return s
			}
			return []*discoveryv1.EndpointSlice{endpoints(key.Name, netip.MustParseAddrPort("10.0.0.1:8080"))}
		},
		certificate: func(key types.NamespacedName) (string, *problem) {
			if file := g.files[key.Name]; file != "" {
				return file, nil
			}
			return "", problemf(reasonCertificateNotFound, "no %s", key.Name)
		},
	}
}

func objectsOf(ingresses ...ingress) []*networkingv1.Ingress {
	var all []*networkingv1.Ingress
	for _, i := range ingresses {
		all = append(all, i.Ingress)
	}
	return all
}

// lines formats a routing: each host, with "+file" if it has a certificate, and its routes.
func (r routing) lines() string {
	var b strings.Builder
	for _, h := range r.hosts {
		fmt.Fprintf(&b, "[%s]%s\n", h.name, strings.TrimSuffix("+"+h.certificate, "+"))
		for _, route := range h.routes {
			equals, backend := strings.Repeat("=", 1-exactness(route)), strings.TrimPrefix(route.backend, "default.")
			fmt.Fprintf(&b, "%s%s %s\n", equals, route.path, backend)
		}
	}
	return b.String()
}

// reasons returns the reasons of an Ingress's problems.
func reasons(problems map[types.UID][]problem, name string) string {
	var all []string
	for _, p := range problems[types.UID(name)] {
		all = append(all, p.reason)
	}
	return strings.Join(all, " ")
}

func TestRouting(t *testing.T) {
	t.Parallel()
	for _, test := range routings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, problems := routingOf(objectsOf(test.ingresses...), test.given.objects())
			if got := r.lines(); got != test.want {
				t.Errorf("got routing\n%s\nwant\n%s", got, test.want)
			}
			for _, i := range test.ingresses {
				if got := reasons(problems, i.Name); got != test.problems[i.Name] {
					t.Errorf("problems of %s: got %q, want %q", i.Name, problems[i.UID], test.problems[i.Name])
				}
			}
			slices.Reverse(test.ingresses)
			if again, _ := routingOf(objectsOf(test.ingresses...), test.given.objects()); again.lines() != r.lines() {
				t.Errorf("with the Ingresses in another order the routing is\n%s", again.lines())
			}
		})
	}
}
