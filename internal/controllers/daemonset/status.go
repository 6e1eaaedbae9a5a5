package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// status counts nodes. On a node with several pods, the first in oldestFirst's order counts.
func (d *daemons) status() appsv1.DaemonSetStatus {
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: d.Set.Generation, CollisionCount: d.line.Collisions, Conditions: d.Set.Status.Conditions,
	}
	for _, node := range d.Nodes {
		there := d.on[node.Name]
		if !d.place.of(node).should {
			if len(there) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(there) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		if pods.IsReady(there[0]) {
			status.NumberReady++
			if d.available(there[0]) {
				status.NumberAvailable++
			}
		}
		if d.isNext(there[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}
