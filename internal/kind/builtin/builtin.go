// Package builtin is all kinds that a server has before anybody defines one: the typed kinds of its folders, one folder
// per API group. It holds no rules of its own. Package bowline puts its kinds into a server's registry.
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
	"github.com/bowline-dev/bowline/object"
)

// Kinds are all built-in kinds, for one server. Their groups come in the order in which Kubernetes serves them: apps
// before events.k8s.io, which is an endpoint of the core group's events. The cache bounds their second encodings.
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
