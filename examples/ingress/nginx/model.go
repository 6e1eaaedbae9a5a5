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

// objects are what routing follows from.
type objects struct {
	// service is nil when there is none.
	service func(types.NamespacedName) *corev1.Service
	slices  func(types.NamespacedName) []*discoveryv1.EndpointSlice
	// certificate is the file of a Secret's certificate, empty when there is none; a problem may come with either.
	certificate func(types.NamespacedName) (file string, p *problem)
}

// routing is where requests go: what nginx is to be told. Equal objects make equal routings.
type routing struct {
	hosts    []host    // by name; the first one, without a name, is for the requests that are for no other
	backends []backend // by name, those alone that have servers
}

// host is a virtual server.
type host struct {
	name        string // empty, or "example.com", or "*.example.com"
	certificate string // a file; empty for no HTTPS
	routes      []route
}

// route says what answers a path, or all that begin with it. Of several that match, the exact one counts, and else the
// longest.
type route struct {
	path    string
	exact   bool
	backend string // empty: 503
}

// routingOf is the routing that some Ingresses declare, and what is wrong with each. Where two declare the same, it is the
// older one's.
func routingOf(ingresses []*networkingv1.Ingress, o objects) (routing, map[types.UID][]problem) {
	b := &builder{objects: o, sites: map[string]*site{}, backends: map[string]backend{}, problems: map[types.UID][]problem{}}
	b.site("")
	for _, i := range slices.SortedFunc(slices.Values(ingresses), older) {
		b.add(i)
	}
	return b.routing(), b.problems
}

// older orders Ingresses: what was there before stays as it is when another one comes.
func older(a, b *networkingv1.Ingress) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// builder adds up what Ingresses declare.
type builder struct {
	objects
	sites    map[string]*site
	backends map[string]backend
	problems map[types.UID][]problem
}

// site is what has been declared for a host so far.
type site struct {
	ruled       bool // and not only secured
	places      map[place]claim
	fallback    claim
	certificate claim
}

// claim is who has declared something first, and what: the name of a backend or a file.
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

func (b *builder) tell(i *networkingv1.Ingress, p *problem) {
	if p != nil && !slices.Contains(b.problems[i.UID], *p) {
		b.problems[i.UID] = append(b.problems[i.UID], *p)
	}
}

// add adds what an Ingress declares.
func (b *builder) add(i *networkingv1.Ingress) {
	hosts := map[string]bool{}
	for _, rule := range i.Spec.Rules {
		hosts[rule.Host] = true
		b.site(rule.Host).ruled = true
		if rule.HTTP == nil {
			continue // for all paths it is the default backend
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
		b.tell(i, p)
		return
	}
	site := b.site(host)
	if before, taken := site.places[at]; taken {
		b.tell(i, conflict(before.by, i, "the path "+at.String()+" of "+hostName(host)))
		return
	}
	site.places[at] = claim{i, b.use(i, path.Backend)}
}

// fallback adds the default backend of an Ingress, for what none of its hosts' paths matches.
func (b *builder) fallback(i *networkingv1.Ingress, hosts []string) {
	for _, host := range hosts {
		site := b.site(host)
		if site.fallback.by != nil {
			b.tell(i, conflict(site.fallback.by, i, "the default backend of "+hostName(host)))
			continue
		}
		site.fallback = claim{i, b.use(i, *i.Spec.DefaultBackend)}
	}
}

// secure adds a certificate of an Ingress, for the hosts that it names or else for all of the Ingress.
func (b *builder) secure(i *networkingv1.Ingress, tls networkingv1.IngressTLS, hosts []string) {
	if len(tls.Hosts) > 0 {
		hosts = tls.Hosts
	}
	if tls.SecretName == "" {
		b.tell(i, problemf(reasonCertificateNotFound, "TLS for %s names no Secret", strings.Join(hosts, ", ")))
		return
	}
	file, p := b.certificate(types.NamespacedName{Namespace: i.Namespace, Name: tls.SecretName})
	b.tell(i, p)
	if file == "" {
		return
	}
	for _, host := range hosts {
		site := b.site(host)
		if site.certificate.by == nil {
			site.certificate = claim{i, file}
		} else if site.certificate.what != file {
			b.tell(i, conflict(site.certificate.by, i, "the certificate of "+hostName(host)))
		}
	}
}

// use is the name of a backend, empty for one that cannot be had or has no server.
func (b *builder) use(i *networkingv1.Ingress, declared networkingv1.IngressBackend) string {
	found, p := b.backend(i.Namespace, declared)
	b.tell(i, p)
	if len(found.servers) == 0 {
		return ""
	}
	b.backends[found.name] = found
	return found.name
}

// conflict says that something is another Ingress's.
func conflict(older, younger *networkingv1.Ingress, what string) *problem {
	if older.UID == younger.UID {
		return problemf(reasonConflict, "%s is declared twice: the first one counts", what)
	}
	return problemf(reasonConflict, "%s is that of the Ingress %s/%s, which is older", what, older.Namespace, older.Name)
}

func hostName(host string) string {
	if host == "" {
		return "all hosts"
	}
	return "host " + host
}
