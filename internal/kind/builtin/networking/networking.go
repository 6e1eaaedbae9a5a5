// Package networking defines the kinds of the networking.k8s.io group: ingresses, which route hosts and paths to
// services; ingress classes, which name the controllers of ingresses; network policies, which restrict the traffic of
// pods; and service CIDRs and IP addresses, the ranges of service addresses and the addresses in use. Each kind has its
// data and columns in the file of its name. Short rules are in the same file, longer ones in a file with the suffix
// _validate. Files with the suffix _old hold the versions that Kubernetes removed.
//
// Validation follows Kubernetes 1.37 (pkg/apis/networking/validation and pkg/registry/networking). The server
// validates metadata for all kinds. Package internal/kind/builtin registers the kinds; no other package uses
// this one.
package networking

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{
		ingressClassKind(cache),
		ingressKind(cache),
		ipAddressKind(cache),
		networkPolicyKind(cache),
		serviceCIDRKind(cache),
	}
}

// nothing is the table cell for a missing value.
const nothing = "<none>"

// enough is the number of errors, or of warnings, after which a rule skips the rest of a list. It is more than a
// response shows (100 errors, 4 KB of warnings), and bounds the memory for an object with many invalid values.
const enough = 1000

// cutRequired separates the errors about missing values from the others. Kubernetes checks some structs for missing
// values in a second pass, and therefore reports these errors last.
func cutRequired(errs field.ErrorList) (others, missing field.ErrorList) {
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired {
			missing = append(missing, e)
		} else {
			others = append(others, e)
		}
	}
	return others, missing
}
