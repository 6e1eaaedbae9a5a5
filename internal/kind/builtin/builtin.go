// Package builtin collects all built-in kinds: the typed kinds of its folders, one per API group. It contains
// no rules itself. Package bowline registers these kinds with a server.
package builtin

import (
	"slices"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/admissionregistration"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apiextensions"
	"github.com/bowline-dev/bowline/internal/kind/builtin/apps"
	"github.com/bowline-dev/bowline/internal/kind/builtin/batch"
	"github.com/bowline-dev/bowline/internal/kind/builtin/coordination"
	"github.com/bowline-dev/bowline/internal/kind/builtin/core"
	"github.com/bowline-dev/bowline/internal/kind/builtin/discovery"
	"github.com/bowline-dev/bowline/internal/kind/builtin/networking"
	"github.com/bowline-dev/bowline/internal/kind/builtin/policy"
	"github.com/bowline-dev/bowline/internal/kind/builtin/scheduling"
	"github.com/bowline-dev/bowline/internal/object"
)

// Kinds returns all built-in kinds, for one server. Their groups are in the order of Kubernetes' discovery:
// apps precedes events.k8s.io, which is an endpoint of the core group's events. cache bounds the memory for
// cached encodings.
func Kinds(cache *object.Cache) []kind.Kind {
	return slices.Concat(
		apps.Kinds(cache),
		core.Kinds(cache),
		batch.Kinds(cache),
		networking.Kinds(cache),
		policy.Kinds(cache),
		admissionregistration.Kinds(cache),
		apiextensions.Kinds(cache),
		coordination.Kinds(cache),
		scheduling.Kinds(cache),
		discovery.Kinds(cache),
	)
}
