package daemonset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// claim adopts and releases pods. If the pods of a node are relabeled as soon as they are created, the delay
// before the next pod on that node grows, and an event on the set gives the reason.
func (d *decision) claim(owner ownership.Owner, claims ownership.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := ownership.Release(owner, pods.Resource, pod)
		if node := targetNode(pod); d.Now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge {
			if d.Backoff.IsRepeated(d.lossKey(node)) {
				d.changes.addEvent(true, podloss.ReasonFightingSelectors, "%s",
					podloss.Message(podloss.Describe(pod, owner.Selector, nil)))
			}
			release = d.Backoff.StartBefore(d.lossKey(node), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// lossKey returns the back-off key for a node that loses the set's pods.
func (d *decision) lossKey(node string) string {
	return fmt.Sprintf("%s/%d/%s/taken", d.Set.UID, d.Set.Generation, node)
}

// createOn creates a pod on a node, or requests another decision if the node's back-off has not ended.
func (d *decision) createOn(node string) {
	if remaining := d.Backoff.Remaining(d.lossKey(node), d.Now); remaining > 0 {
		d.changes.requeue(remaining)
		return
	}
	d.changes.create = append(d.changes.create, node)
}
