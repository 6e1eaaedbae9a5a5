// Package networking defines the kinds of the networking.k8s.io group that configure how traffic enters a
// cluster: ingresses, which route hosts and paths to services, and ingress classes, which name the
// controllers of ingresses. Each kind has its data and columns in the file of its name, and its rules in the
// file with the suffix _validate.
//
// Validation follows Kubernetes 1.36 (pkg/apis/networking/validation and pkg/registry/networking). The server
// validates metadata for all kinds. Package internal/kind/builtin registers the kinds; no other package uses
// this one.
package networking

import (
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{ingressClassKind(cache), ingressKind(cache)}
}

// nothing is the table cell for a missing value.
const nothing = "<none>"
