package deployment

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// The reasons of the condition Progressing, which kubectl rollout reads.
const (
	reasonPaused    = "DeploymentPaused"
	reasonResumed   = "DeploymentResumed"
	reasonUpdated   = "ReplicaSetUpdated"
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"

	reasonNotCreated = "ReplicaSetCreateError"
)

// count computes the status. It returns when the status will change without an event; 0 means never.
func (r *rollout) count() (again time.Duration) {
	before := r.Deployment.Status
	r.status = r.counted()
	if r.status.AvailableReplicas >= r.minAvailable() {
		r.setCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability.")
	} else {
		r.setCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.")
	}
	if r.spec.Paused || r.Deployment.DeletionTimestamp != nil || r.resizing {
		return 0 // none of these is progress of a rollout, or the lack of it
	}
	again = r.progress(&before)
	r.copyFailure()
	return again
}

// counted returns the status with its counts.
func (r *rollout) counted() appsv1.DeploymentStatus {
	s := r.status
	s.ObservedGeneration = r.Deployment.Generation
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = 0, 0, 0, 0, 0
	total := desiredPods(r.all())
	for _, set := range r.all() {
		s.Replicas += set.Status.Replicas
		s.ReadyReplicas += set.Status.ReadyReplicas
		s.AvailableReplicas += set.Status.AvailableReplicas
	}
	if r.next != nil {
		s.UpdatedReplicas = r.next.Status.Replicas
	}
	s.UnavailableReplicas = max(0, total-s.AvailableReplicas)
	s.TerminatingReplicas = terminatingCount(r.all())
	return s
}

// terminatingCount returns how many pods are being deleted, or nil if a ReplicaSet's controller does not report it.
func terminatingCount(sets []*appsv1.ReplicaSet) *int32 {
	var sum int32
	for _, set := range sets {
		switch {
		case set.Status.TerminatingReplicas != nil:
			sum += *set.Status.TerminatingReplicas
		case set.Status.ObservedGeneration > 0:
			return nil
		}
	}
	return &sum
}

// complete reports whether the rollout is complete: all pods are of the template, and available.
func (r *rollout) complete() bool { return r.isComplete(r.counted()) }

func (r *rollout) isComplete(s appsv1.DeploymentStatus) bool {
	size := r.size()
	return s.UpdatedReplicas == size && s.Replicas == size && s.AvailableReplicas == size
}

// hasDeadline reports whether the Deployment has a progress deadline.
func (r *rollout) hasDeadline() bool {
	return r.spec.ProgressDeadlineSeconds != nil && *r.spec.ProgressDeadlineSeconds != int32(1<<31-1)
}

// progress sets the condition Progressing, and returns the time until its deadline.
func (r *rollout) progress(before *appsv1.DeploymentStatus) (again time.Duration) {
	if !r.hasDeadline() {
		r.dropCondition(appsv1.DeploymentProgressing)
		return 0
	}
	what := fmt.Sprintf("Deployment %q", r.Deployment.Name)
	if r.next != nil {
		what = fmt.Sprintf("ReplicaSet %q", r.next.Name)
	}
	over := what + " has successfully progressed."
	had := r.condition(appsv1.DeploymentProgressing)
	// A condition about another ReplicaSet is from an earlier rollout: it does not end this one.
	done := had != nil && had.Reason == reasonAvailable && (r.next == nil || had.Message == over)
	switch {
	case done && r.status.Replicas == r.status.UpdatedReplicas:
		return 0
	case r.isComplete(r.status):
		if !done {
			r.renewProgress(reasonAvailable, over)
		}
		return 0
	case r.progressed(before):
		r.renewProgress(reasonUpdated, what+" is progressing.")
	case r.timedOut():
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut,
			what+" has timed out progressing.")
	}
	return r.untilDeadline()
}

// progressed reports whether there are more new pods than before, fewer old ones, or more that are ready or
// available.
func (r *rollout) progressed(before *appsv1.DeploymentStatus) bool {
	now := &r.status
	return now.UpdatedReplicas > before.UpdatedReplicas || now.ReadyReplicas > before.ReadyReplicas ||
		now.AvailableReplicas > before.AvailableReplicas ||
		now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas
}

// renewProgress sets the condition Progressing with the current time.
func (r *rollout) renewProgress(reason, message string) {
	since := metav1.NewTime(r.Now)
	if had := r.condition(appsv1.DeploymentProgressing); had != nil && had.Status == corev1.ConditionTrue {
		since = had.LastTransitionTime
	}
	r.dropCondition(appsv1.DeploymentProgressing)
	r.status.Conditions = append(r.status.Conditions, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		LastUpdateTime: metav1.NewTime(r.Now), LastTransitionTime: since,
	})
}

// timedOut reports whether the rollout has exceeded its progress deadline.
func (r *rollout) timedOut() bool {
	c := r.condition(appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonAvailable { // the time since the last rollout completed does not count
		return false
	}
	return c.Reason == reasonTimedOut || r.deadline(c).Before(r.Now)
}

func (r *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*r.spec.ProgressDeadlineSeconds) * time.Second)
}

// untilDeadline returns when to check for progress: a second late, since timestamps have whole seconds.
func (r *rollout) untilDeadline() time.Duration {
	c := r.condition(appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonTimedOut || c.Reason == reasonAvailable {
		return 0
	}
	return max(0, r.deadline(c).Sub(r.Now)) + time.Second
}

// notCreated sets in the current status why the ReplicaSet of the template could not be created.
func (r *rollout) notCreated(message string) action.Action {
	failed := rollout{Observed: r.Observed, spec: r.spec, status: *r.Deployment.Status.DeepCopy()}
	if failed.hasDeadline() {
		failed.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonNotCreated, message)
	}
	return failed.updateStatus()
}

// copyFailure copies the failure condition of a ReplicaSet that cannot create pods. The new ReplicaSet takes
// precedence, then the oldest.
func (r *rollout) copyFailure() {
	sets := r.old
	if r.next != nil {
		sets = append([]*appsv1.ReplicaSet{r.next}, sets...)
	}
	for _, set := range sets {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				r.putCondition(appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				})
				return
			}
		}
	}
	r.dropCondition(appsv1.DeploymentReplicaFailure)
}

// recordPause records that the Deployment was paused or resumed: a pause does not count as a lack of progress.
func (r *rollout) recordPause() {
	if !r.hasDeadline() {
		return
	}
	c := r.condition(appsv1.DeploymentProgressing)
	paused := c != nil && c.Reason == reasonPaused
	switch {
	case c != nil && c.Reason == reasonTimedOut:
	case r.spec.Paused && !paused:
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !r.spec.Paused && paused:
		r.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	}
}

func (r *rollout) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range r.status.Conditions {
		if r.status.Conditions[i].Type == kind {
			return &r.status.Conditions[i]
		}
	}
	return nil
}

func (r *rollout) dropCondition(kind appsv1.DeploymentConditionType) {
	r.status.Conditions = slices.DeleteFunc(slices.Clone(r.status.Conditions), func(c appsv1.DeploymentCondition) bool {
		return c.Type == kind
	})
}

// setCondition sets a condition with the current time. See putCondition.
func (r *rollout) setCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason,
	message string) {
	now := metav1.NewTime(r.Now)
	r.putCondition(appsv1.DeploymentCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

// putCondition sets a condition unless its status and reason are unchanged.
func (r *rollout) putCondition(next appsv1.DeploymentCondition) {
	if had := r.condition(next.Type); had != nil && had.Status == next.Status {
		if had.Reason == next.Reason {
			return
		}
		next.LastTransitionTime = had.LastTransitionTime
	}
	r.dropCondition(next.Type)
	r.status.Conditions = append(r.status.Conditions, next)
}
