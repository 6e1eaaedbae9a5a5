package main

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/examples/network"
	samplecrd "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
)

// controlled reports whether a running controller will set the condition Ready of this kind, or Available of deployments, whose pods
// need nodes for that.
func (p *upPlan) controlled(kind schema.GroupKind) bool {
	if kind == (schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		return p.flags.nodes > 0 && p.controllers.runs(deployment.Name)
	}
	return p.controllers.network && slices.ContainsFunc(samplecrd.GroupVersions(), func(gv schema.GroupVersion) bool {
		return kind == gv.WithKind(samplecrd.Kind).GroupKind()
	})
}

// runNetwork runs the network controller in this process, on the server's own objects, until ctx is done.
func (p *upPlan) runNetwork(ctx context.Context, plane *bowline.Plane, home *home) error {
	return network.Run(ctx, network.Options{
		Config:       plane.RESTConfig(),
		Source:       plane.Source(),
		Provider:     p.flags.networkProvider,
		Folder:       home.networks,
		RemoveOnStop: p.flags.ephemeral,
		Journal:      plane.Journal(),
		Log:          p.log,

		TracerProvider: p.traces,
	})
}
