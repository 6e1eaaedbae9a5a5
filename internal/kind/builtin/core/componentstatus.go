//lint:file-ignore SA1019 Kubernetes serves its deprecated component statuses still

package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// componentStatusKind returns the kind of component statuses, which package internal/server/component computes.
func componentStatusKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ComponentStatus", Plural: "componentstatuses", Singular: "componentstatus", ShortNames: []string{"cs"},
		Endpoints: []kind.Endpoint{{Version: "v1", Deprecated: "v1 ComponentStatus is deprecated in v1.19+"}},
		Verbs:     []string{"get", "list"}, Computed: true,
	}, kind.Rules[*corev1.ComponentStatus]{
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			textColumn("Status", "Status of the component conditions", 0),
			textColumn("Message", "Message of the component conditions", 0),
			textColumn("Error", "Error of the component conditions", 0),
		},
		Row: componentStatusRow,
	})
}

func componentStatusRow(s *corev1.ComponentStatus, _ time.Time) []any {
	for _, c := range s.Conditions {
		switch {
		case c.Type != corev1.ComponentHealthy:
		case c.Status == corev1.ConditionTrue:
			return []any{s.Name, "Healthy", c.Message, c.Error}
		default:
			return []any{s.Name, "Unhealthy", c.Message, c.Error}
		}
	}
	return []any{s.Name, "Unknown", "", ""}
}
