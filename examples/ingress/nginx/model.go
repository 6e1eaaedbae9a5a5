package nginx

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// objects gives access to the objects that the routing depends on.
type objects struct {
	// service returns nil if the Service does not exist.
	service func(types.NamespacedName) *corev1.Service
	slices  func(types.NamespacedName) []*discoveryv1.EndpointSlice
	// certificate returns the file of a Secret's certificate, or an empty name if there is none. It may
	// return a problem in both cases.
	certificate func(types.NamespacedName) (file string, p *problem)
}

// routing is the complete routing for nginx. Equal objects produce equal routings.
type routing struct {
	hosts    []host    // sorted by name; the first one, without a name, serves all hosts without an entry
	backends []backend // sorted by name; only those with servers
}

// host is a virtual server.
type host struct {
	name        string // empty, or "example.com", or "*.example.com"
	certificate string // a file; empty means no HTTPS
	routes      []route
}

// route maps a path, or all paths with a prefix, to a backend. If several match, an exact route takes
// precedence, then the longest prefix.
type route struct {
	path    string
	exact   bool
	backend string // empty means 503
}

// routingOf returns the routing that some Ingresses declare, and the problems of each. If two declare the
// same host and path, the older one takes precedence.
func routingOf(ingresses []*networkingv1.Ingress, o objects) (routing, map[types.UID][]problem) {
	b := &builder{objects: o, sites: map[string]*site{}, backends: map[string]backend{},
		problems: map[types.UID][]problem{}}
	b.site("")
	for _, i := range slices.SortedFunc(slices.Values(ingresses), older) {
		b.add(i)
	}
	return b.routing(), b.problems
}

// older orders Ingresses by age, so that a new Ingress does not change an existing route.
func older(a, b *networkingv1.Ingress) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// builder collects the declarations of all Ingresses.
type builder struct {
	objects
	sites    map[string]*site
	backends map[string]backend
	problems map[types.UID][]problem
}

// site collects the declarations for a host.
type site struct {
	ruled       bool // it has a rule, and not only a certificate
	places      map[place]claim
	fallback    claim
	certificate claim
}

// claim is the first declaration of something: the Ingress, and the name of its backend or certificate file.
type claim struct {
	by   *networkingv1.Ingress
	what string
}

func (b *builder) site(name string) *site {
	s, ok := b.sites[name]
	if !ok {
		s = &site{places: map[place]claim{}}
		b.sites[name] = s
	}
	return s
}

func (b *builder) addProblem(i *networkingv1.Ingress, p *problem) {
	if p != nil && !slices.Contains(b.problems[i.UID], *p) {
		b.problems[i.UID] = append(b.problems[i.UID], *p)
	}
}

// add adds the declarations of an Ingress.
func (b *builder) add(i *networkingv1.Ingress) {
	hosts := map[string]bool{}
	for _, rule := range i.Spec.Rules {
		hosts[rule.Host] = true
		b.site(rule.Host).ruled = true
		if rule.HTTP == nil {
			continue // all paths go to the default backend
		}
		for _, path := range rule.HTTP.Paths {
			b.path(i, rule.Host, path)
		}
	}
	if len(hosts) == 0 {
		hosts[""] = true
	}
	own := slices.Sorted(maps.Keys(hosts))
	if i.Spec.DefaultBackend != nil {
		b.fallback(i, own)
	}
	for _, tls := range i.Spec.TLS {
		b.secure(i, tls, own)
	}
}

// path adds a path of an Ingress.
func (b *builder) path(i *networkingv1.Ingress, host string, path networkingv1.HTTPIngressPath) {
	at, p := placeOf(path)
	if p != nil {
		b.addProblem(i, p)
		return
	}
	site := b.site(host)
	if before, taken := site.places[at]; taken {
		b.addProblem(i, conflict(before.by, i, "the path "+at.String()+" of "+hostName(host)))
		return
	}
	site.places[at] = claim{i, b.use(i, path.Backend)}
}

// fallback adds the default backend of an Ingress, for requests to its hosts that match no path.
func (b *builder) fallback(i *networkingv1.Ingress, hosts []string) {
	for _, host := range hosts {
		site := b.site(host)
		if site.fallback.by != nil {
			b.addProblem(i, conflict(site.fallback.by, i, "the default backend of "+hostName(host)))
			continue
		}
		site.fallback = claim{i, b.use(i, *i.Spec.DefaultBackend)}
	}
}

// secure adds a certificate of an Ingress, for the hosts in the TLS section or, if it lists none, for all
// hosts of the Ingress.
func (b *builder) secure(i *networkingv1.Ingress, tls networkingv1.IngressTLS, hosts []string) {
	if len(tls.Hosts) > 0 {
		hosts = tls.Hosts
	}
	if tls.SecretName == "" {
		b.addProblem(i, problemf(reasonCertificateNotFound, "TLS for %s names no Secret", strings.Join(hosts, ", ")))
		return
	}
	file, p := b.certificate(types.NamespacedName{Namespace: i.Namespace, Name: tls.SecretName})
	b.addProblem(i, p)
	if file == "" {
		return
	}
	for _, host := range hosts {
		site := b.site(host)
		if site.certificate.by == nil {
			site.certificate = claim{i, file}
		} else if site.certificate.what != file {
			b.addProblem(i, conflict(site.certificate.by, i, "the certificate of "+hostName(host)))
		}
	}
}

// use adds a backend and returns its name, or an empty name if it cannot be resolved or has no servers.
func (b *builder) use(i *networkingv1.Ingress, declared networkingv1.IngressBackend) string {
	found, p := b.backend(i.Namespace, declared)
	b.addProblem(i, p)
	if len(found.servers) == 0 {
		return ""
	}
	b.backends[found.name] = found
	return found.name
}

// conflict returns the problem that an older Ingress has declared the same.
func conflict(older, younger *networkingv1.Ingress, what string) *problem {
	if older.UID == younger.UID {
		return problemf(reasonConflict, "%s is declared twice: the first declaration takes effect", what)
	}
	return problemf(reasonConflict, "%s is that of the Ingress %s/%s, which is older", what, older.Namespace,
		older.Name)
}

func hostName(host string) string {
	if host == "" {
		return "all hosts"
	}
	return "host " + host
}
