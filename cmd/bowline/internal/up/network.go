package up

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/serve"
	"github.com/bowline-dev/bowline/examples/network"
	samplecrd "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
)

// hasReadyController reports whether a running controller will set the condition that bowline up waits for on objects
// of this kind. Deployments become Available only if simulated nodes run their pods; networks become Ready
// only if the network controller runs.
func (p *plan) hasReadyController(kind schema.GroupKind) bool {
	if kind == (schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		return p.flags.nodes > 0 && p.controllers.Runs(deployment.Name)
	}
	return p.controllers.Network && slices.ContainsFunc(samplecrd.GroupVersions(), func(gv schema.GroupVersion) bool {
		return kind == gv.WithKind(samplecrd.Kind).GroupKind()
	})
}

// runNetwork runs the network controller on the plane's in-process Source until ctx is done.
func (p *plan) runNetwork(ctx context.Context, plane *bowline.Plane, home *serve.Home) error {
	return network.Run(ctx, network.Options{
		Config:       plane.RESTConfig(),
		Source:       plane.Source(),
		Provider:     p.flags.networkProvider,
		Folder:       home.Networks,
		RemoveOnStop: p.flags.ephemeral,
		Journal:      plane.Journal(),
		Log:          p.log,

		TracerProvider: p.traces,
	})
}
