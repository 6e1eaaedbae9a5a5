package daemonset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// claim adopts pods, and lets others go. A node whose pods are taken from the set as soon as they are made gets the next one
// less and less soon, and the set says why.
func (d *daemons) claim(owner adopt.Owner, claims adopt.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := adopt.Release(owner, pods.Resource, pod)
		if node := nodeOf(pod); d.Now.Sub(pod.CreationTimestamp.Time) < failing.Young {
			if d.Pauses.Often(d.takenFrom(node)) {
				d.tell(true, failing.ReasonFight, "%s", failing.Fight(failing.Lost(pod, owner.Selector, nil)))
			}
			release = d.Pauses.Before(d.takenFrom(node), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// takenFrom is where pauses are counted for a node whose pods are taken from the set.
func (d *daemons) takenFrom(node string) string {
	return fmt.Sprintf("%s/%d/%s/taken", d.Set.UID, d.Set.Generation, node)
}

// lacks notes that a node is to get a pod, unless it has to wait for one.
func (d *daemons) lacks(node string) {
	if left := d.Pauses.Left(d.takenFrom(node), d.Now); left > 0 {
		d.soon(left)
		return
	}
	d.create = append(d.create, node)
}
