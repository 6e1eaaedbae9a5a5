package main

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/node/simulated"
)

// childHeartbeats is the argument of the process with the simulated nodes.
const childHeartbeats = "child-heartbeats"

// heartbeats measures the cost of idle nodes.
func heartbeats() measurement {
	return measurement{
		figures: []figure{
			{"5,000 simulated nodes, from none to all ready", seconds, 15},
			{"5,000 idle simulated nodes, 500 heartbeats/s, with server and controllers: CPU time", ofACore, 25},
		},
		starts: true,
		most:   3,
		run:    inChild(childHeartbeats),
	}
}

// measureHeartbeats runs a plane with all controllers, and nodes that renew their leases every ten seconds.
// It prints the time in seconds until all nodes are ready, and then the CPU time of the process as a
// percentage of a core.
func measureHeartbeats(ctx context.Context, _ []string) error {
	const beat, beats = 10 * time.Second, 3
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{"*"}})
	if err != nil {
		return err
	}
	defer plane.Close()
	start := time.Now()
	return onNodes(ctx, plane, simulated.Options{Nodes: 5_000, HeartbeatInterval: beat},
		func(kubernetes.Interface) error {
			took := time.Since(start)
			if _, err := ofCore(ctx, 2*beat); err != nil { // until the renewals are evenly distributed
				return err
			}
			spent, err := ofCore(ctx, beats*beat)
			if err != nil {
				return err
			}
			return printJSON([]float64{took.Seconds(), spent})
		})
}
