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
		there := d.podsByNode[node.Name]
		if !d.eligibility.of(node).shouldRun {
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
		if d.factory.isCurrent(there[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}
