package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// status counts nodes. On a node with several pods, the first in oldestFirst's order counts.
func (d *decision) status() appsv1.DaemonSetStatus {
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: d.Set.Generation, CollisionCount: d.history.Collisions, Conditions: d.Set.Status.Conditions,
	}
	for _, node := range d.Nodes {
		nodePods := d.podsByNode[node.Name]
		if !d.eligibility.match(node).shouldRun {
			if len(nodePods) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(nodePods) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		if pods.IsReady(nodePods[0]) {
			status.NumberReady++
			if d.available(nodePods[0]) {
				status.NumberAvailable++
			}
		}
		if d.factory.isCurrent(nodePods[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}
