package nginx

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// routing is what all that was added comes to.
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

// certificateOf is the certificate of a host: the one that was declared for it, or for the wildcard that covers it. One without a
// host is for those that nobody names alone: others have not asked for HTTPS, and may be in other namespaces.
func (b *builder) certificateOf(name string) string {
	for _, candidate := range covering(name) {
		if s, ok := b.sites[candidate]; ok && s.certificate.by != nil {
			return s.certificate.what
		}
	}
	return ""
}

// ruling is the site whose rules are a host's: its own or, where it has a certificate and no rules, the wildcard's or everybody's.
func (b *builder) ruling(name string) *site {
	for _, candidate := range covering(name) {
		if s, ok := b.sites[candidate]; ok && (s.ruled || s.fallback.by != nil) {
			return s
		}
	}
	return b.sites[""]
}

// covering are the names that stand for a host: its own, and the wildcard's.
func covering(name string) []string {
	if _, parent, ok := strings.Cut(name, "."); ok {
		return []string{name, "*." + parent}
	}
	return []string{name}
}

// routesOf are the routes of a host.
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

// firstBy is the first claim that somebody has made.
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
