package main

import (
	"context"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// mostNodes is how many simulated nodes --nodes may ask for: each renews a lease every ten seconds.
const mostNodes = 10_000

// runNodes runs simulated nodes in this process, on the server's own objects, until ctx is done.
func (p *upPlan) runNodes(ctx context.Context, plane *bowline.Plane) error {
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{
		Source: plane.Source(), Journal: plane.Journal(), TracerProvider: p.traces, Log: p.log,
	})
	if err != nil {
		return err
	}
	simulated.Add(m, simulated.Options{Nodes: p.flags.nodes})
	return m.Run(ctx)
}
