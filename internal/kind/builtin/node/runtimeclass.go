// Package node defines the kinds of the node.k8s.io group: runtimeclasses, which name the configurations of container
// runtimes that pods can select. Nodes belong to the core group.
//
// Validation follows Kubernetes 1.37 (pkg/apis/node/validation, pkg/registry/node and the declarative rules of
// k8s.io/api/node/v1). The server validates metadata for all kinds. Package internal/kind/builtin registers the kinds;
// no other package uses this one.
package node

import (
	"fmt"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
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

// deprecatedLabels maps deprecated labels of nodes to the text of a warning.
var deprecatedLabels = map[string]string{
	"beta.kubernetes.io/arch":                  instead("v1.14", "kubernetes.io/arch"),
	"beta.kubernetes.io/os":                    instead("v1.14", "kubernetes.io/os"),
	"beta.kubernetes.io/instance-type":         instead("v1.17", "node.kubernetes.io/instance-type"),
	"failure-domain.beta.kubernetes.io/region": instead("v1.17", "topology.kubernetes.io/region"),
	"failure-domain.beta.kubernetes.io/zone":   instead("v1.17", "topology.kubernetes.io/zone"),
	"app.kubernetes.io/created-by":             "deprecated since v1.9",
	"node-role.kubernetes.io/master":           `use "node-role.kubernetes.io/control-plane" instead`,

	"scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
}

func instead(since, label string) string {
	return fmt.Sprintf("deprecated since %s; use %q instead", since, label)
}

// runtimeClassWarnings warns about each deprecated label in the node selector, even if an update does not change it.
func runtimeClassWarnings(c, _ *nodev1.RuntimeClass) (warnings []string) {
	if c.Scheduling == nil {
		return nil
	}
	for _, label := range fieldcheck.SortedKeys(c.Scheduling.NodeSelector) {
		if text, deprecated := deprecatedLabels[label]; deprecated {
			warnings = append(warnings, field.NewPath("scheduling", "nodeSelector").String()+": "+text)
		}
	}
	return warnings
}
