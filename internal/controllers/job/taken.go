package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// claim adopts pods, and lets others go. A job whose pods are taken from it as soon as they are made makes the next ones less
// and less soon, and says why. All that are taken in a pause count as once.
func (d *Decision) claim(owner adopt.Owner, claims adopt.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := adopt.Release(owner, pods.Resource, pod)
		if d.Now.Sub(pod.CreationTimestamp.Time) < failing.Young && !d.robbed && d.leftAlone() == 0 {
			d.robbed = true
			if d.Pauses.Often(d.place()) {
				actions = append(actions, action.Event{About: d.Job, Warning: true, Reason: failing.ReasonFight,
					Message: failing.Fight(failing.Lost(pod, owner.Selector, nil))})
			}
			release = d.Pauses.Before(d.place(), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// leftAlone is how long no pod is made, because others were taken from the job.
func (d *Decision) leftAlone() time.Duration {
	if d.robbed { // the pause has just begun
		return time.Second
	}
	return d.Pauses.Left(d.place(), d.Now)
}

// place is where pauses are counted for the job.
func (d *Decision) place() string { return string(d.Job.UID) }
