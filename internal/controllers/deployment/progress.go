package deployment

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hasDeadline reports whether the Deployment has a progress deadline.
func (s *desiredStatus) hasDeadline() bool {
	return s.deployment.Spec.ProgressDeadlineSeconds != nil &&
		*s.deployment.Spec.ProgressDeadlineSeconds != int32(1<<31-1)
}

// progress sets the condition Progressing, and returns the time until its deadline.
func (s *desiredStatus) progress(before *appsv1.DeploymentStatus, sets *replicaSets) (recheckAfter time.Duration) {
	if !s.hasDeadline() {
		s.dropCondition(appsv1.DeploymentProgressing)
		return 0
	}
	subject := fmt.Sprintf("Deployment %q", s.deployment.Name)
	if sets.next != nil {
		subject = fmt.Sprintf("ReplicaSet %q", sets.next.Name)
	}
	completeMessage := subject + " has successfully progressed."
	current := s.condition(appsv1.DeploymentProgressing)
	// A condition about another ReplicaSet is from an earlier rollout and does not complete this one.
	completed := current != nil && current.Reason == reasonAvailable &&
		(sets.next == nil || current.Message == completeMessage)
	switch {
	case completed && s.status.Replicas == s.status.UpdatedReplicas:
		return 0
	case isComplete(s.status, sets.limits.size):
		if !completed {
			s.renewProgress(reasonAvailable, completeMessage)
		}
		return 0
	case s.progressed(before):
		s.renewProgress(reasonUpdated, subject+" is progressing.")
	case s.timedOut():
		s.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut,
			subject+" has timed out progressing.")
	}
	return s.untilDeadline()
}

// progressed reports whether there are more new pods than before, fewer old ones, or more that are ready or
// available.
func (s *desiredStatus) progressed(before *appsv1.DeploymentStatus) bool {
	now := &s.status
	return now.UpdatedReplicas > before.UpdatedReplicas || now.ReadyReplicas > before.ReadyReplicas ||
		now.AvailableReplicas > before.AvailableReplicas ||
		now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas
}

// renewProgress sets the condition Progressing with the current time.
func (s *desiredStatus) renewProgress(reason, message string) {
	since := metav1.NewTime(s.now)
	if current := s.condition(appsv1.DeploymentProgressing); current != nil && current.Status == corev1.ConditionTrue {
		since = current.LastTransitionTime
	}
	s.dropCondition(appsv1.DeploymentProgressing)
	s.status.Conditions = append(s.status.Conditions, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		LastUpdateTime: metav1.NewTime(s.now), LastTransitionTime: since,
	})
}

// timedOut reports whether the rollout has exceeded its progress deadline.
func (s *desiredStatus) timedOut() bool {
	c := s.condition(appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonAvailable { // the time since the last rollout completed does not count
		return false
	}
	return c.Reason == reasonTimedOut || s.deadline(c).Before(s.now)
}

func (s *desiredStatus) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*s.deployment.Spec.ProgressDeadlineSeconds) * time.Second)
}

// untilDeadline returns when to check for progress: a second late, since timestamps have whole seconds.
func (s *desiredStatus) untilDeadline() time.Duration {
	c := s.condition(appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonTimedOut || c.Reason == reasonAvailable {
		return 0
	}
	return max(0, s.deadline(c).Sub(s.now)) + time.Second
}

// recordPause records that the Deployment was paused or resumed: a pause does not count as a lack of progress.
func (s *desiredStatus) recordPause() {
	if !s.hasDeadline() {
		return
	}
	c := s.condition(appsv1.DeploymentProgressing)
	paused := c != nil && c.Reason == reasonPaused
	switch {
	case c != nil && c.Reason == reasonTimedOut:
	case s.deployment.Spec.Paused && !paused:
		s.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !s.deployment.Spec.Paused && paused:
		s.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	}
}
