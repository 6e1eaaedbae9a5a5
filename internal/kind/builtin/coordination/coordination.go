// Package coordination is the kinds of the coordination.k8s.io group: leases, through which programs agree on who leads.
// What a rule refuses, and in which words, follows Kubernetes 1.36 (pkg/apis/coordination/validation). Package
// kind/builtin puts the kinds into a server's registry; nothing else calls this package.
package coordination

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all kinds of the group, for one server. The cache bounds their second encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{leaseKind(cache)}
}

func leaseKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Lease", Plural: "leases", Singular: "lease",
		Namespaced:     true,
		CreateOnUpdate: true, ConditionalUpdate: true,
		Endpoints: []kind.Endpoint{{Group: "coordination.k8s.io", Version: "v1"}},
	}, kind.Rules[*coordinationv1.Lease]{
		Validate: validateLease,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Holder", Type: "string", Description: coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]},
			kind.AgeColumn,
		},
		Row: func(l *coordinationv1.Lease, now time.Time) []any {
			holder := ""
			if l.Spec.HolderIdentity != nil {
				holder = *l.Spec.HolderIdentity
			}
			return []any{l.Name, holder, kind.Age(l.CreationTimestamp.Time, now)}
		},
	})
}
