package apiextensions

import (
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// columns returns the columns of Kubernetes 1.37; earlier versions show only the name and the creation time. kubectl
// shows the columns of priority 1 with -o wide.
func columns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		kind.NameColumn,
		{Name: "Scope", Type: "string", Description: "Cluster/Namespaced"},
		{Name: "Versions", Type: "string", Description: "Served versions"},
		{Name: "Created At", Type: "date", Description: kind.AgeColumn.Description},
		{Name: "Group", Type: "string", Description: "API group", Priority: 1},
		{Name: "Kind", Type: "string", Description: "CustomResource kind", Priority: 1},
		{Name: "ShortNames", Type: "string", Description: "Short names", Priority: 1},
		{Name: "Established", Type: "boolean", Description: "Established status", Priority: 1},
	}
}

func row(crd *definition, _ time.Time) []any {
	var served []string
	for _, v := range crd.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			served = append(served, v.Name+"(storage)")
		case v.Served:
			served = append(served, v.Name)
		}
	}
	slices.Sort(served)
	established := slices.ContainsFunc(crd.Status.Conditions,
		func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
	return []any{crd.Name, string(crd.Spec.Scope), strings.Join(served, ","),
		crd.CreationTimestamp.UTC().Format(time.RFC3339), crd.Spec.Group, crd.Spec.Names.Kind,
		strings.Join(crd.Spec.Names.ShortNames, ","), established}
}
