package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// status counts nodes. On a node with several pods, the first in oldestFirst's order counts.
func (d *decision) status() appsv1.DaemonSetStatus {
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: d.Set.Generation, CollisionCount: d.history.Collisions, Conditions: d.conditions,
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

// limitConditions are the conditions that report the limits of package podlimit.
var limitConditions = podlimit.Conditions[appsv1.DaemonSetCondition]{
	Is: func(c appsv1.DaemonSetCondition, message string) bool {
		return c.Type == podlimit.ConditionType && (message == "" || c.Message == message)
	},
	New: func(now metav1.Time, message string) appsv1.DaemonSetCondition {
		return appsv1.DaemonSetCondition{Type: podlimit.ConditionType, Status: corev1.ConditionTrue,
			LastTransitionTime: now, Reason: podlimit.Reason, Message: message}
	},
}

// limitCreations drops creations that the limits do not permit now. A condition reports the limit; an event does when
// the condition is set.
func (d *decision) limitCreations() {
	limit := podlimit.Count(d.Now, slices.Values(d.pods)).Grant(len(d.changes.create))
	d.changes.create = d.changes.create[:limit.Pods]
	d.changes.requeue(limit.Wait)
	conditions, changed := limitConditions.Update(d.conditions, limit.Refusal, d.Now)
	if d.conditions = conditions; changed {
		d.changes.events = append(d.changes.events, limit.Refusal.Event(d.Set))
	}
}
