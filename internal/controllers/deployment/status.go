package deployment

import (
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
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

// desiredStatus is the status of a Deployment, and the revision of its template, that the decision writes.
type desiredStatus struct {
	deployment *appsv1.Deployment
	written    *action.StatusBackoff[WrittenStatus]
	now        time.Time
	status     appsv1.DeploymentStatus
	revision   string
}

// newDesiredStatus starts with the current status and revision.
func newDesiredStatus(s *Observed) *desiredStatus {
	return &desiredStatus{
		deployment: s.Deployment, written: s.Written, now: s.Now, status: *s.Deployment.Status.DeepCopy(),
		revision: s.Deployment.Annotations[RevisionAnnotation],
	}
}

// update returns the update of the status and the revision, or no action if both are up to date.
func (s *desiredStatus) update() action.Action {
	d := s.deployment.DeepCopy()
	d.Status = s.status
	if s.revision != "" && s.deployment.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, RevisionAnnotation, s.revision)
	}
	if equality.Semantic.DeepEqual(d, s.deployment) {
		return action.Parallel{}
	}
	key := informer.KeyOf(d)
	if wait := s.written.Delay(key, writtenStatus(s.deployment), writtenStatus(d)); wait > 0 {
		return action.Requeue{After: wait}
	}
	return action.OnSuccess{
		Action: action.Update[*appsv1.Deployment]{Resource: resource, Object: d, Subresource: "status"},
		Done:   func() { s.written.Written(key, writtenStatus(d)) },
	}
}

// compute computes the counts and the conditions; resizing is set if the step only changes the Deployment's size.
// compute returns the delay after which the status changes without an event; 0 means never.
func (s *desiredStatus) compute(sets *replicaSets, resizing bool) (recheckAfter time.Duration) {
	before := s.deployment.Status
	s.status = withCounts(s.status, sets)
	s.status.ObservedGeneration = s.deployment.Generation
	if s.status.AvailableReplicas >= sets.limits.minAvailable {
		s.setCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability.")
	} else {
		s.setCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.")
	}
	if s.deployment.Spec.Paused || s.deployment.DeletionTimestamp != nil || resizing {
		return 0 // none of these is progress of a rollout, or the lack of it
	}
	recheckAfter = s.progress(&before, sets)
	s.copyFailure(sets)
	return recheckAfter
}

// withCounts returns a status with the numbers of the pods that ReplicaSets have.
func withCounts(s appsv1.DeploymentStatus, sets *replicaSets) appsv1.DeploymentStatus {
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = 0, 0, 0, 0, 0
	all := sets.all()
	for _, set := range all {
		s.Replicas = bounded.Count(int64(s.Replicas) + int64(set.Status.Replicas))
		s.ReadyReplicas = bounded.Count(int64(s.ReadyReplicas) + int64(set.Status.ReadyReplicas))
		s.AvailableReplicas = bounded.Count(int64(s.AvailableReplicas) + int64(set.Status.AvailableReplicas))
	}
	if sets.next != nil {
		s.UpdatedReplicas = sets.next.Status.Replicas
	}
	s.UnavailableReplicas = bounded.Count(desiredPods(all) - int64(s.AvailableReplicas))
	s.TerminatingReplicas = terminatingCount(all)
	return s
}

// terminatingCount returns how many pods are being deleted, or nil if a ReplicaSet's controller does not report it.
func terminatingCount(sets []*appsv1.ReplicaSet) *int32 {
	var sum int32
	for _, set := range sets {
		switch {
		case set.Status.TerminatingReplicas != nil:
			sum = bounded.Count(int64(sum) + int64(*set.Status.TerminatingReplicas))
		case set.Status.ObservedGeneration > 0:
			return nil
		}
	}
	return &sum
}

// isComplete reports whether all pods of a status are of the template, and available.
func isComplete(s appsv1.DeploymentStatus, size int32) bool {
	return s.UpdatedReplicas == size && s.Replicas == size && s.AvailableReplicas == size
}

// notCreated sets in the current status why the ReplicaSet of the template could not be created.
func (s *desiredStatus) notCreated(message string) action.Action {
	failed := desiredStatus{
		deployment: s.deployment, written: s.written, now: s.now, status: *s.deployment.Status.DeepCopy(),
	}
	if failed.hasDeadline() {
		failed.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonNotCreated, message)
	}
	return failed.update()
}

// copyFailure copies the failure condition of a ReplicaSet that cannot create pods. The new ReplicaSet takes
// precedence, then the oldest.
func (s *desiredStatus) copyFailure(sets *replicaSets) {
	all := sets.old
	if sets.next != nil {
		all = append([]*appsv1.ReplicaSet{sets.next}, all...)
	}
	for _, set := range all {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				s.putCondition(appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				})
				return
			}
		}
	}
	s.dropCondition(appsv1.DeploymentReplicaFailure)
}

// countCollision increments the collision count, which changes the template's hash.
func (s *desiredStatus) countCollision() {
	count := int32(1)
	if previous := s.status.CollisionCount; previous != nil {
		count = (*previous + 1) & math.MaxInt32 // after the largest number comes 0
	}
	s.status.CollisionCount = &count
}

func (s *desiredStatus) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.status.Conditions {
		if s.status.Conditions[i].Type == kind {
			return &s.status.Conditions[i]
		}
	}
	return nil
}

func (s *desiredStatus) dropCondition(kind appsv1.DeploymentConditionType) {
	s.status.Conditions = slices.DeleteFunc(slices.Clone(s.status.Conditions), func(c appsv1.DeploymentCondition) bool {
		return c.Type == kind
	})
}

// setCondition sets a condition with the current time. See putCondition.
func (s *desiredStatus) setCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason,
	message string) {
	now := metav1.NewTime(s.now)
	s.putCondition(appsv1.DeploymentCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

// putCondition sets a condition unless its status and reason are unchanged.
func (s *desiredStatus) putCondition(next appsv1.DeploymentCondition) {
	if current := s.condition(next.Type); current != nil && current.Status == next.Status {
		if current.Reason == next.Reason {
			return
		}
		next.LastTransitionTime = current.LastTransitionTime
	}
	s.dropCondition(next.Type)
	s.status.Conditions = append(s.status.Conditions, next)
}
