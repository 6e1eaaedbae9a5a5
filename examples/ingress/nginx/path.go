package nginx

import (
	"net/url"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// longestLocation is how long a path may be in nginx, in bytes. It keeps the length in one byte and does not look: a path of
// 260 bytes would match all that begin with its first four, other people's requests among them.
const longestLocation = 255

// place is what a path of an Ingress matches: this path, or it and all below it. Below means by elements: /foo has /foo/bar
// below it, and not /foobar. A prefix has no slash at its end, so all is "".
type place struct {
	path  string
	exact bool
}

// placeOf reads a path. ImplementationSpecific is as Prefix. An escaped character is the same as the character itself, as it
// is in requests.
func placeOf(p networkingv1.HTTPIngressPath) place {
	path := p.Path
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	if p.PathType != nil && *p.PathType == networkingv1.PathTypeExact {
		return place{path, true}
	}
	return place{strings.TrimRight(path, "/"), false}
}

// fits says whether nginx can tell the path from others.
func (p place) fits() bool { return len(p.below()) <= longestLocation }

// below is how the paths below a prefix begin; of an exact place it is the path.
func (p place) below() string {
	if p.exact {
		return p.path
	}
	return p.path + "/"
}

// String is the path as a person wrote it.
func (p place) String() string {
	if p.path == "" {
		return "/"
	}
	return p.path
}
