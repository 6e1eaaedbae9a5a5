package discovery

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// path is a parsed discovery path. The core group, which has no name, is below /api; all others are below
// /apis.
type path struct {
	core           bool
	group, version string
}

var (
	corePath   = path{core: true}
	groupsPath = path{}
)

// parsePath parses /api, /api/VERSION, /apis, /apis/GROUP and /apis/GROUP/VERSION, each with or without a
// trailing slash.
func parsePath(s string) (path, bool) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/"), "/")
	for _, part := range parts {
		if part == "" {
			return path{}, false
		}
	}
	switch {
	case parts[0] == "api" && len(parts) == 1:
		return corePath, true
	case parts[0] == "api" && len(parts) == 2:
		return path{core: true, version: parts[1]}, true
	case parts[0] == "apis" && len(parts) == 1:
		return groupsPath, true
	case parts[0] == "apis" && len(parts) == 2:
		return path{group: parts[1]}, true
	case parts[0] == "apis" && len(parts) == 3:
		return path{group: parts[1], version: parts[2]}, true
	}
	return path{}, false
}

// isRoot reports whether the path is /api or /apis, which have an aggregated form.
func (p path) isRoot() bool { return p.group == "" && p.version == "" }

func (p path) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: p.group, Version: p.version}
}

// String returns the path in its canonical form.
func (p path) String() string {
	s := "/apis"
	if p.core {
		s = "/api"
	}
	for _, part := range []string{p.group, p.version} {
		if part != "" {
			s += "/" + part
		}
	}
	return s
}
