//lint:file-ignore SA1019 Kubernetes serves its deprecated endpoints still

package core

import (
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func endpointsKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Endpoints", Plural: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"},
		Namespaced:     true,
		CreateOnUpdate: true,
		Endpoints: []kind.Endpoint{
			{Version: "v1", Deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
		},
	}, kind.Rules[*corev1.Endpoints]{
		Default:  defaultEndpoints,
		Validate: fieldcheck.WithFinalizers(validateEndpoints),
		Warnings: endpointsWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			textColumn("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"], 0),
			kind.AgeColumn,
		},
		Row: func(e *corev1.Endpoints, now time.Time) []any {
			return []any{e.Name, formatEndpoints(e.Subsets), kind.Age(e.CreationTimestamp.Time, now)}
		},
	})
}

func defaultEndpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			if p := &e.Subsets[i].Ports[j]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

// formatEndpoints formats the first three ready addresses, each combined with each port of its subset, and the
// number of the remaining ones. For subsets without ports, as headless services may have, it shows addresses
// only.
func formatEndpoints(subsets []corev1.EndpointSubset) string {
	if len(subsets) == 0 {
		return nothing
	}
	var all []string
	for _, s := range subsets {
		if len(s.Ports) == 0 {
			for _, a := range s.Addresses {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return kind.Abbreviate(all)
}
