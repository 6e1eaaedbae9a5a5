package nginx

import (
	"net/url"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// longestLocation is the maximum length of a path in nginx, in bytes. nginx stores the length in one byte
// without a check: a path of 260 bytes would match all paths with its first four bytes, including those of
// other Ingresses.
const longestLocation = 255

// place is what a path of an Ingress matches: the exact path, or the path and all paths below it. "Below"
// refers to path elements: /foo/bar is below /foo, and /foobar is not. A prefix is stored without its final
// slash, so "" matches all paths.
type place struct {
	path  string
	exact bool
}

// reachable reports whether a request can have a path. nginx normalizes the paths of requests: /x//y becomes
// /x/y, and /x/../y becomes /y.
func reachable(path string) bool {
	return !strings.Contains(path, "//") && !slices.ContainsFunc(strings.Split(path, "/"), func(element string) bool {
		return element == "." || element == ".."
	})
}

// placeOf parses a path. ImplementationSpecific means Prefix. Escaped characters are unescaped, as in
// requests.
func placeOf(p networkingv1.HTTPIngressPath) (place, *problem) {
	path := p.Path
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	if !reachable(path) {
		return place{}, problemf(reasonPathUnreachable,
			"no request has the path %.40s: nginx merges // into / and resolves . and ..", path)
	}
	at := place{path, true}
	if p.PathType == nil || *p.PathType != networkingv1.PathTypeExact {
		at = place{strings.TrimRight(path, "/"), false}
	}
	if len(at.below()) > longestLocation {
		return place{}, problemf(reasonPathTooLong,
			"the path %.40s... has more than %d bytes: nginx cannot distinguish it from others",
			at, longestLocation)
	}
	return at, nil
}

// below returns the prefix of all paths below a place; for an exact place it returns the path.
func (p place) below() string {
	if p.exact {
		return p.path
	}
	return p.path + "/"
}

// String returns the path for messages.
func (p place) String() string {
	if p.path == "" {
		return "/"
	}
	return p.path
}
