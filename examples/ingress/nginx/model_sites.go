package nginx

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// routing returns the routing of all added Ingresses.
func (b *builder) routing() routing {
	var r routing
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		r.hosts = append(r.hosts, host{name: name, certificate: b.certificateOf(name), routes: b.routesOf(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(b.backends)) {
		r.backends = append(r.backends, b.backends[name])
	}
	return r
}

// certificateOf returns the certificate of a host: a certificate declared for the host itself or for a
// wildcard that covers it. A certificate without a host is only for hosts without rules: other hosts have not
// requested HTTPS and may be in other namespaces.
func (b *builder) certificateOf(name string) string {
	for _, candidate := range covering(name) {
		if s, ok := b.sites[candidate]; ok && s.certificate.by != nil {
			return s.certificate.what
		}
	}
	return ""
}

// ruling returns the site with the rules for a host: its own or, if it has only a certificate, that of the
// wildcard or of all hosts.
func (b *builder) ruling(name string) *site {
	for _, candidate := range covering(name) {
		if s, ok := b.sites[candidate]; ok && (s.ruled || s.fallback.by != nil) {
			return s
		}
	}
	return b.sites[""]
}

// covering returns a host and the wildcard that covers it.
func covering(name string) []string {
	if _, parent, ok := strings.Cut(name, "."); ok {
		return []string{name, "*." + parent}
	}
	return []string{name}
}

// routesOf returns the routes of a host, sorted.
func (b *builder) routesOf(name string) []route {
	s := b.ruling(name)
	var routes []route
	for at, c := range s.places {
		routes = append(routes, route{at.below(), at.exact, c.what})
		if _, taken := s.places[place{at.path, true}]; !at.exact && at.path != "" && !taken {
			routes = append(routes, route{at.path, true, c.what})
		}
	}
	if _, taken := s.places[place{}]; !taken {
		if fallback := firstBy(s.fallback, b.sites[""].fallback); fallback.by != nil {
			routes = append(routes, route{"/", false, fallback.what})
		}
	}
	slices.SortFunc(routes, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(exactness(a), exactness(b)))
	})
	return routes
}

// firstBy returns the first claim with an owner.
func firstBy(claims ...claim) claim {
	for _, c := range claims {
		if c.by != nil {
			return c
		}
	}
	return claim{}
}

func exactness(r route) int {
	if r.exact {
		return 0
	}
	return 1
}
