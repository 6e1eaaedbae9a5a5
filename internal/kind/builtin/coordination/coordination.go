// Package coordination defines the kinds of the coordination.k8s.io group: leases, which programs use for
// leader election, and lease candidates, which are off by default. Validation follows Kubernetes 1.37
// (pkg/apis/coordination/validation). Package internal/kind/builtin registers the kinds; no other package uses
// this one.
package coordination

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{leaseKind(cache), candidateKind(cache)}
}

func leaseKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Lease", Plural: "leases", Singular: "lease",
		Namespaced:     true,
		CreateOnUpdate: true, ConditionalUpdate: true, Heartbeat: true,
		Endpoints: []kind.Endpoint{{Group: "coordination.k8s.io", Version: "v1"}},
	}, kind.Rules[*coordinationv1.Lease]{
		Prepare:  func(l, old *coordinationv1.Lease, _ string) { dropCoordination(l, old) },
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

// dropCoordination clears the fields for coordinated leader election, which is off by default in Kubernetes 1.37,
// unless the stored lease has them.
func dropCoordination(l, old *coordinationv1.Lease) {
	if old == nil || old.Spec.Strategy == nil {
		l.Spec.Strategy = nil
	}
	if old == nil || old.Spec.PreferredHolder == nil {
		l.Spec.PreferredHolder = nil
	}
}
