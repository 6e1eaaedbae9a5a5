// Package flowcontrol defines the kinds of the flowcontrol.apiserver.k8s.io group: flow schemas, which assign requests
// to priority levels, and priority level configurations, which divide the concurrency of the server among the levels.
// It also defines the objects of these kinds that every cluster has.
//
// Validation follows Kubernetes 1.37 (pkg/apis/flowcontrol/validation and pkg/registry/flowcontrol); the tests name the
// source of each rule. The server validates metadata for all kinds. Package internal/server/flow applies the objects to
// requests, and internal/kind/builtin registers the kinds.
package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

type (
	schema = flowcontrolv1.FlowSchema
	level  = flowcontrolv1.PriorityLevelConfiguration
)

// Kinds returns all kinds of the group, for one server, in discovery's order. cache bounds the memory for cached
// encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return []kind.Kind{schemaKind(cache), levelKind(cache)}
}

// info returns the part of the Info that both kinds share.
func info() kind.Info {
	return kind.Info{
		Endpoints:  []kind.Endpoint{{Group: flowcontrolv1.GroupName, Version: "v1"}},
		Generation: true,
		Subresources: []kind.Subresource{
			{Name: statusSub, Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"}},
		},
	}
}

const statusSub = "status"

// keepMetadata restores the metadata in a write of the status.
func keepMetadata(obj metav1.Object, old *metav1.ObjectMeta, sub string) {
	if sub == statusSub {
		metav1.ResetObjectMetaForStatus(obj, old.DeepCopy())
	}
}

// nothing is the table cell for a missing value.
const nothing = "<none>"
