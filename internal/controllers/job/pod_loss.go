package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// claim adopts and releases pods. If pods lose the job's labels right after their creation, the job creates
// replacements ever more slowly and records an event. All pods taken during one pause count as one.
func (d *Decision) claim(owner ownership.Owner, claims ownership.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := ownership.Release(owner, pods.Resource, pod)
		if d.Now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge && !d.lostPods && d.creationDelay() == 0 {
			d.lostPods = true
			if d.Pauses.IsRepeated(d.backoffKey()) {
				actions = append(actions,
					action.Event{Object: d.Job, Warning: true, Reason: podloss.ReasonFightingSelectors,
						Message: podloss.Message(podloss.Describe(pod, owner.Selector, nil))})
			}
			release = d.Pauses.StartBefore(d.backoffKey(), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// creationDelay returns for how long no pods are created because earlier ones were taken from the job.
func (d *Decision) creationDelay() time.Duration {
	if d.lostPods { // the pause starts with this run
		return time.Second
	}
	return d.Pauses.Remaining(d.backoffKey(), d.Now)
}

// backoffKey is the key under which the job's pauses are counted.
func (d *Decision) backoffKey() string { return string(d.Job.UID) }
