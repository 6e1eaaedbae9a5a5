package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// podLoss delays the creation of pods for a job that loses them right after their creation.
type podLoss struct {
	job    *batchv1.Job
	pauses *podbackoff.Tracker
	now    time.Time
	starts bool // a pause starts with this run
}

// claim adopts and releases pods. If pods lose the job's labels right after their creation, the job creates
// replacements ever more slowly and records an event. All pods taken during one pause count as one.
func (l *podLoss) claim(owner ownership.Owner, claims ownership.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := ownership.Release(owner, pods.Resource, pod)
		if l.now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge && !l.starts && l.creationDelay() == 0 {
			l.starts = true
			if l.pauses.IsRepeated(l.backoffKey()) {
				actions = append(actions,
					action.Event{Object: l.job, Warning: true, Reason: podloss.ReasonFightingSelectors,
						Message: podloss.Message(podloss.Describe(pod, owner.Selector, nil))})
			}
			release = l.pauses.StartBefore(l.backoffKey(), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// creationDelay returns for how long no pods are created because earlier ones were taken from the job.
func (l *podLoss) creationDelay() time.Duration {
	if l.starts {
		return time.Second
	}
	return l.pauses.Remaining(l.backoffKey(), l.now)
}

// backoffKey is the key under which the job's pauses are counted.
func (l *podLoss) backoffKey() string { return string(l.job.UID) }
