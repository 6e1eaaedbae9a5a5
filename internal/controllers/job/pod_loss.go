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
	job         *batchv1.Job
	backoff     *podbackoff.Tracker
	now         time.Time
	delayStarts bool // the next delay starts in this run
}

// claim adopts and releases pods. If pods lose the job's labels right after their creation, the job creates
// replacements ever more slowly and records an event. All pods lost during one delay count as one.
func (l *podLoss) claim(owner ownership.Owner, claims ownership.Claims[*corev1.Pod]) []action.Action {
	released := claims.Released
	claims.Released = nil
	actions := claims.Actions(owner, pods.Resource)
	for _, pod := range released {
		release := ownership.Release(owner, pods.Resource, pod)
		if l.now.Sub(pod.CreationTimestamp.Time) < podloss.MaxAge && !l.delayStarts && l.creationDelay() == 0 {
			l.delayStarts = true
			if l.backoff.IsRepeated(l.backoffKey()) {
				actions = append(actions,
					action.Event{Object: l.job, Warning: true, Reason: podloss.ReasonFightingSelectors,
						Message: podloss.Message(podloss.Describe(pod, owner.Selector, nil))})
			}
			release = l.backoff.StartBefore(l.backoffKey(), release)
		}
		actions = append(actions, release)
	}
	return actions
}

// creationDelay returns for how long no pods are created because the job lost earlier ones.
func (l *podLoss) creationDelay() time.Duration {
	if l.delayStarts {
		return time.Second
	}
	return l.backoff.Remaining(l.backoffKey(), l.now)
}

// backoffKey is the key of the job's delays.
func (l *podLoss) backoffKey() string { return string(l.job.UID) }
