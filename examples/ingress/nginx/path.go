package nginx

import (
	"net/url"
	"slices"
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

// reached says whether any request has a path. nginx knows requests by what their paths come to: /x//y is /x/y, and /x/../y is /y.
func reached(path string) bool {
	return !strings.Contains(path, "//") && !slices.ContainsFunc(strings.Split(path, "/"), func(element string) bool {
		return element == "." || element == ".."
	})
}

// placeOf reads a path. ImplementationSpecific is as Prefix. An escaped character is the same as the character itself, as it
// is in requests.
func placeOf(p networkingv1.HTTPIngressPath) (place, *problem) {
	path := p.Path
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	if !reached(path) {
		return place{}, problemf(reasonPathUnreachable, "no request has the path %.40s: // comes to /, and . and .. are resolved", path)
	}
	at := place{path, true}
	if p.PathType == nil || *p.PathType != networkingv1.PathTypeExact {
		at = place{strings.TrimRight(path, "/"), false}
	}
	if len(at.below()) > longestLocation {
		return place{}, problemf(reasonPathTooLong, "the path %.40s... has more than %d bytes, which nginx cannot tell from others",
			at, longestLocation)
	}
	return at, nil
}

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
