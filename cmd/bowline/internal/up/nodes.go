package up

import (
	"context"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// maxNodes is the largest accepted value of --nodes. Each simulated node renews a lease every ten seconds.
const maxNodes = 10_000

// runNodes runs the simulated nodes on the plane's in-process Source until ctx is done.
func (p *plan) runNodes(ctx context.Context, plane *bowline.Plane) error {
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{
		Source: plane.Source(), Journal: plane.Journal(), TracerProvider: p.traces, Log: p.log,
	})
	if err != nil {
		return err
	}
	simulated.Add(m, simulated.Options{Nodes: p.flags.nodes, Images: p.flags.images})
	return m.Run(ctx)
}
