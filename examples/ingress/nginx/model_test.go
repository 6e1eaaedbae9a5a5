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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// given are the objects of a test. Each Service that is not listed exists, with one endpoint.
type given struct {
	services map[string]*corev1.Service
	slices   map[string][]*discoveryv1.EndpointSlice
	files    map[string]string // of Secrets
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

// lines are a routing as text: the hosts, with "+file" where they are secured, and below each its routes.
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

// reasons are what is wrong with an Ingress.
func reasons(problems map[types.UID][]problem, name string) string {
	var all []string
	for _, p := range problems[types.UID(name)] {
		all = append(all, p.reason)
	}
	return strings.Join(all, " ")
}

// routings are what is declared, and what nginx is to be told of it.
var routings = []struct {
	name      string
	given     given
	ingresses []ingress
	want      string
	problems  map[string]string
}{
	{name: "nothing", want: "[]\n"},
	{
		name:      "a prefix is the path and all below it",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s")},
		want:      "[]\n[h.com]\n=/x s.80\n/x/ s.80\n",
	},
	{
		name:      "a slash at the end of a prefix says nothing",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x/", "s"), newIngress("b").prefix("h.com", "/x", "t").since(1)},
		want:      "[]\n[h.com]\n=/x s.80\n/x/ s.80\n",
		problems:  map[string]string{"b": reasonConflict},
	},
	{
		name:      "exact wins over prefix",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s").exact("h.com", "/x", "t").exact("h.com", "/x/", "u")},
		want:      "[]\n[h.com]\n=/x t.80\n=/x/ u.80\n/x/ s.80\n",
	},
	{
		name: "the older of two Ingresses wins, whatever their names",
		ingresses: []ingress{
			newIngress("a").exact("h.com", "/", "young").since(2), newIngress("z").exact("h.com", "/", "old").since(1),
		},
		want:     "[]\n[h.com]\n=/ old.80\n",
		problems: map[string]string{"a": reasonConflict},
	},
	{
		name:      "implementation-specific is a prefix, and empty is all",
		ingresses: []ingress{newIngress("a").path("h.com", networkingv1.PathTypeImplementationSpecific, "", "s")},
		want:      "[]\n[h.com]\n/ s.80\n",
	},
	{
		name:      "an escaped path is the one that it stands for",
		ingresses: []ingress{newIngress("a").exact("h.com", "/a%20b", "s").exact("h.com", "/50%", "t")},
		want:      "[]\n[h.com]\n=/50% t.80\n=/a b s.80\n",
	},
	{
		name:      "the default backend has what no path of its hosts matches",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/x", "s").otherwise("d"), newIngress("b").prefix("i.com", "/", "t")},
		want:      "[]\n[h.com]\n/ d.80\n=/x s.80\n/x/ s.80\n[i.com]\n/ t.80\n",
	},
	{
		name:      "that of an Ingress without rules has what nobody else has",
		ingresses: []ingress{newIngress("a").otherwise("d"), newIngress("b").exact("i.com", "/x", "t")},
		want:      "[]\n/ d.80\n[i.com]\n/ d.80\n=/x t.80\n",
	},
	{
		name:      "the older default backend wins",
		ingresses: []ingress{newIngress("a").otherwise("d").since(1), newIngress("b").otherwise("e")},
		want:      "[]\n/ e.80\n",
		problems:  map[string]string{"a": reasonConflict},
	},
	{
		name: "a rule without paths leaves its host to the default backend",
		ingresses: []ingress{{&networkingv1.Ingress{ObjectMeta: meta("a"), Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{Host: "h.com"}}, DefaultBackend: pointer(toService("d")),
		}}}},
		want: "[]\n[h.com]\n/ d.80\n",
	},
	{
		name:      "no endpoint: the route is there, without a backend",
		given:     given{slices: map[string][]*discoveryv1.EndpointSlice{"s": nil}},
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s")},
		want:      "[]\n[h.com]\n/ \n",
	},
	{
		name:      "no service",
		given:     given{services: map[string]*corev1.Service{"s": nil}},
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").prefix("h.com", "/t", "t")},
		want:      "[]\n[h.com]\n/ \n=/t t.80\n/t/ t.80\n",
		problems:  map[string]string{"a": reasonServiceNotFound},
	},
	{
		name: "backends that are no services",
		given: given{services: map[string]*corev1.Service{
			"away": {ObjectMeta: meta("away"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}},
		}},
		ingresses: []ingress{
			newIngress("a").prefix("h.com", "/", "away"),
			{&networkingv1.Ingress{ObjectMeta: meta("b"), Spec: networkingv1.IngressSpec{
				DefaultBackend: &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: "b"}},
			}}},
		},
		want:     "[]\n/ \n[h.com]\n/ \n",
		problems: map[string]string{"a": reasonUnsupportedBackend, "b": reasonUnsupportedBackend},
	},
	{
		name: "the longest path that nginx can tell from others, and one that it cannot",
		ingresses: []ingress{
			newIngress("a").exact("h.com", "/"+strings.Repeat("a", 254), "s"),
			newIngress("b").prefix("h.com", "/"+strings.Repeat("b", 254), "s"),
		},
		want:     "[]\n[h.com]\n=/" + strings.Repeat("a", 254) + " s.80\n",
		problems: map[string]string{"b": reasonPathTooLong},
	},
	{
		name:  "certificates are for the hosts that are named, or else for the Ingress's",
		given: given{files: map[string]string{"one": "1", "two": "2", "any": "any"}},
		ingresses: []ingress{
			newIngress("a").prefix("h.com", "/", "s").prefix("i.com", "/", "s").tls("one", "h.com"),
			newIngress("b").prefix("j.com", "/", "s").tls("two"),
			newIngress("c").prefix("k.com", "/", "s").tls("none"),
		},
		want:     "[]\n[h.com]+1\n/ s.80\n[i.com]\n/ s.80\n[j.com]+2\n/ s.80\n[k.com]\n/ s.80\n",
		problems: map[string]string{"c": reasonCertificateNotFound},
	},
	{
		name:  "a certificate for a wildcard is for the hosts below it, and a host without rules is served as all are",
		given: given{files: map[string]string{"wild": "w", "all": "a", "other": "o"}},
		ingresses: []ingress{
			newIngress("a").prefix("x.h.com", "/", "s").tls("wild", "*.h.com"),
			newIngress("b").prefix("", "/", "t").tls("all"),
			newIngress("c").tls("other", "*.h.com").since(9),
		},
		want:     "[]+a\n/ t.80\n[*.h.com]+w\n/ t.80\n[x.h.com]+w\n/ s.80\n",
		problems: map[string]string{"c": reasonConflict},
	},
	{
		name:  "a certificate without a host is for no host that somebody names",
		given: given{files: map[string]string{"all": "a"}},
		ingresses: []ingress{
			newIngress("a").prefix("", "/", "t").tls("all"), newIngress("b").prefix("h.com", "/", "s"),
		},
		want: "[]+a\n/ t.80\n[h.com]\n/ s.80\n",
	},
	{
		name: "paths that no request has",
		ingresses: []ingress{
			newIngress("a").path("h.com", networkingv1.PathTypeImplementationSpecific, "//", "s").prefix("h.com", "/t", "t"),
			newIngress("b").path("h.com", networkingv1.PathTypeImplementationSpecific, "/..", "s"),
			newIngress("c").path("h.com", networkingv1.PathTypeImplementationSpecific, "/x/./y", "s"),
			newIngress("d").prefix("h.com", "/x/%2e%2e/y", "s"),
			newIngress("e").prefix("h.com", "/...", "s"),
		},
		want: "[]\n[h.com]\n=/... s.80\n/.../ s.80\n=/t t.80\n/t/ t.80\n",
		problems: map[string]string{
			"a": reasonPathUnreachable, "b": reasonPathUnreachable, "c": reasonPathUnreachable, "d": reasonPathUnreachable,
		},
	},
	{
		name:      "TLS without a Secret",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").tls("", "h.com")},
		want:      "[]\n[h.com]\n/ s.80\n",
		problems:  map[string]string{"a": reasonCertificateNotFound},
	},
	{
		name:      "a path that is declared twice",
		ingresses: []ingress{newIngress("a").prefix("h.com", "/", "s").prefix("h.com", "/", "t")},
		want:      "[]\n[h.com]\n/ s.80\n",
		problems:  map[string]string{"a": reasonConflict},
	},
}

func TestRoutingFollowsFromWhatIsDeclared(t *testing.T) {
	t.Parallel()
	for _, test := range routings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, problems := routingOf(objectsOf(test.ingresses...), test.given.objects())
			if got := r.lines(); got != test.want {
				t.Errorf("the routing is\n%s\nwant\n%s", got, test.want)
			}
			for _, i := range test.ingresses {
				if got := reasons(problems, i.Name); got != test.problems[i.Name] {
					t.Errorf("wrong with %s: %q, want %q", i.Name, problems[i.UID], test.problems[i.Name])
				}
			}
			slices.Reverse(test.ingresses)
			if again, _ := routingOf(objectsOf(test.ingresses...), test.given.objects()); again.lines() != r.lines() {
				t.Errorf("in another order, the routing is\n%s", again.lines())
			}
		})
	}
}

// slice is an EndpointSlice of endpoints by their address and conditions: r(eady), s(erving), t(erminating), u(nready), or none.
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
		{"what terminates is left out", "http", slices{slice("http", 80, "10.0.0.1 st", "10.0.0.2 r")}, "[10.0.0.2:80]"},
		{"but where nothing else serves", "http", slices{slice("http", 80, "10.0.0.1 st", "10.0.0.2 t", "10.0.0.3 s")}, "[10.0.0.1:80]"},
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
		declared := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: test.port}}
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

func TestIngressesOfTheClassAreServed(t *testing.T) {
	t.Parallel()
	named, other, none := newIngress("named"), newIngress("other"), newIngress("none")
	old, leaving := newIngress("old"), newIngress("leaving")
	other.Spec.IngressClassName = pointer("traefik")
	none.Spec.IngressClassName, old.Spec.IngressClassName = nil, nil
	old.Annotations = map[string]string{legacyClass: DefaultClass}
	leaving.DeletionTimestamp = &metav1.Time{}
	all := objectsOf(named, other, none, old, leaving)
	isDefault := map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
	for _, test := range []struct {
		name  string
		class *networkingv1.IngressClass
		want  string
	}{
		{"without a class", nil, "named old"},
		{"with it", &networkingv1.IngressClass{}, "named old"},
		{"where it is the default", &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Annotations: isDefault}}, "named none old"},
	} {
		var got []string
		for _, i := range mine(all, test.class, DefaultClass) {
			got = append(got, i.Name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}
