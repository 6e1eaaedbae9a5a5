// Package policy defines the kinds of the policy group: poddisruptionbudgets, which limit how many of the
// selected pods voluntary disruptions may remove at once.
//
// Validation follows Kubernetes 1.36 (pkg/apis/policy/validation and pkg/registry/policy); the tests name the
// source of each rule. The server validates metadata for all kinds. Package internal/kind/builtin registers
// the kinds; no other package uses this one.
package policy

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind { return []kind.Kind{budgetKind(cache)} }

func budgetKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "PodDisruptionBudget", Plural: "poddisruptionbudgets", Singular: "poddisruptionbudget",
		ShortNames:        []string{"pdb"},
		Namespaced:        true,
		Generation:        true,
		ConditionalUpdate: true,
		Endpoints:         []kind.Endpoint{{Group: policyv1.GroupName, Version: "v1"}, oldEndpoint()},
		Subresources:      []kind.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	}, kind.Rules[*policyv1.PodDisruptionBudget]{
		Versions: oldVersions,
		Validate: validateBudget,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Min Available", Type: "string", Description: "The minimum number of pods that must be available."},
			{Name: "Max Unavailable", Type: "string",
				Description: "The maximum number of pods that may be unavailable."},
			{Name: "Allowed Disruptions", Type: "integer",
				Description: "Calculated number of pods that may be disrupted at this time."},
			kind.AgeColumn,
		},
		Row: func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
			return []any{b.Name, share(b.Spec.MinAvailable), share(b.Spec.MaxUnavailable),
				int64(b.Status.DisruptionsAllowed),
				kind.Age(b.CreationTimestamp.Time, now)}
		},
	})
}

// share formats a number or percentage of pods for a table cell.
func share(n *intstr.IntOrString) string {
	if n == nil {
		return "N/A"
	}
	return n.String()
}
