// Package builtin collects all built-in kinds: the typed kinds of its folders, one per API group. It contains
// no rules itself. Package bowline registers these kinds with a server.
package builtin

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiregistration"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apps"
	"github.com/bowline-dev/bowline/internal/kind/builtin/authentication"
	"github.com/bowline-dev/bowline/internal/kind/builtin/authorization"
	"github.com/bowline-dev/bowline/internal/kind/builtin/autoscaling"
	"github.com/bowline-dev/bowline/internal/kind/builtin/batch"
	"github.com/bowline-dev/bowline/internal/kind/builtin/certificates"
	"github.com/bowline-dev/bowline/internal/kind/builtin/coordination"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/discovery"
	"github.com/bowline-dev/bowline/internal/kind/builtin/flowcontrol"
	"github.com/bowline-dev/bowline/internal/kind/builtin/networking"
	"github.com/bowline-dev/bowline/internal/kind/builtin/node"
	"github.com/bowline-dev/bowline/internal/kind/builtin/policy"
	"github.com/bowline-dev/bowline/internal/kind/builtin/rbac"
	"github.com/bowline-dev/bowline/internal/kind/builtin/resource"
	"github.com/bowline-dev/bowline/internal/kind/builtin/scheduling"
	"github.com/bowline-dev/bowline/internal/kind/builtin/storage"
	"github.com/bowline-dev/bowline/internal/kind/builtin/storagemigration"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all built-in kinds, for one server. Their groups are in the order of Kubernetes' discovery:
// apps precedes events.k8s.io, which is an endpoint of the core group's events. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return slices.Concat(
		apiregistration.Kinds(cache),
		apps.Kinds(cache),
		core.Kinds(cache),
		authentication.Kinds(cache),
		authorization.Kinds(cache),
		autoscaling.Kinds(cache),
		batch.Kinds(cache),
		certificates.Kinds(cache),
		networking.Kinds(cache),
		policy.Kinds(cache),
		rbac.Kinds(cache),
		storage.Kinds(cache),
		admissionregistration.Kinds(cache),
		apiextensions.Kinds(cache),
		scheduling.Kinds(cache),
		coordination.Kinds(cache),
		node.Kinds(cache),
		discovery.Kinds(cache),
		resource.Kinds(cache),
		flowcontrol.Kinds(cache),
		storagemigration.Kinds(cache),
	)
}
