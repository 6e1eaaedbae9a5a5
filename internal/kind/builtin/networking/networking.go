// Package networking is the kinds of the networking.k8s.io group that say how traffic enters a cluster: ingresses, which
// lead hosts and paths to services, and ingress classes, which say who makes them so. Each kind has its data and columns
// in a file of its name, and its rules in one beside that.
//
// What a rule refuses, and in which words, follows Kubernetes 1.36 (pkg/apis/networking/validation and
// pkg/registry/networking). Metadata is checked by the server, for all kinds alike. Package kind/builtin puts the kinds
// into a server's registry; nothing else calls this package.
package networking

import (
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all kinds of the group, for one server, in discovery's order. The cache bounds their second encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{ingressClassKind(cache), ingressKind(cache)}
}

// nothing is the cell of a table that has nothing to show.
const nothing = "<none>"
