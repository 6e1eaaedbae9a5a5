// Package node defines the kinds of the node.k8s.io group: runtimeclasses, which name the configurations of container
// runtimes that pods can select. Nodes belong to the core group.
//
// Validation follows Kubernetes 1.37 (pkg/apis/node/validation, pkg/registry/node and the declarative rules of
// k8s.io/api/node/v1). The server validates metadata for all kinds. Package internal/kind/builtin registers the kinds;
// no other package uses this one.
package node

import (
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all kinds of the group, for one server. cache bounds the memory for cached encodings.
func Kinds(cache *object.Cache) []kind.Kind { return []kind.Kind{runtimeClassKind(cache)} }

func runtimeClassKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "RuntimeClass", Plural: "runtimeclasses", Singular: "runtimeclass",
		CreateOnUpdate:    true,
		ConditionalUpdate: true,
		Endpoints:         []kind.Endpoint{{Group: nodev1.GroupName, Version: nodev1.SchemeGroupVersion.Version}},
	}, kind.Rules[*nodev1.RuntimeClass]{
		Validate: validateRuntimeClass,
		Warnings: runtimeClassWarnings,
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Handler", Type: "string"}, // Kubernetes has no description
			kind.AgeColumn,
		},
		Row: func(c *nodev1.RuntimeClass, now time.Time) []any {
			return []any{c.Name, c.Handler, kind.Age(c.CreationTimestamp.Time, now)}
		},
	})
}

// runtimeClassWarnings warns about each deprecated label in the node selector, even if an update does not change it.
func runtimeClassWarnings(c, _ *nodev1.RuntimeClass) (warnings []string) {
	if c.Scheduling == nil {
		return nil
	}
	for _, label := range fieldcheck.SortedKeys(c.Scheduling.NodeSelector) {
		if text, deprecated := podspec.DeprecatedNodeLabel(label); deprecated {
			warnings = append(warnings, field.NewPath("scheduling", "nodeSelector").String()+": "+text)
		}
	}
	return warnings
}
