package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// status counts pods and their revisions. A rollout is complete when all desired pods are ready and of the
// new revision; the new revision then becomes the current one.
func (w *decision) status() appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: w.Set.Generation, CollisionCount: w.history.Collisions, Conditions: w.conditions,
		CurrentRevision: w.current.Name, UpdateRevision: w.history.Current.Name,
	}
	for _, pod := range w.pods {
		status.Replicas++
		if pods.IsReady(pod) && pod.Status.Phase == corev1.PodRunning {
			status.ReadyReplicas++
			if w.available(pod) {
				status.AvailableReplicas++
			}
		}
		if pod.DeletionTimestamp != nil {
			continue
		}
		if revisionOf(pod) == w.current.Name {
			status.CurrentReplicas++
		}
		if revisionOf(pod) == w.history.Current.Name {
			status.UpdatedReplicas++
		}
	}
	status.CurrentReplicas -= w.terminating
	if previous := w.Set.Status; w.Set.DeletionTimestamp != nil { // its revisions may have been deleted before it
		status.CurrentRevision, status.UpdateRevision, status.CollisionCount = previous.CurrentRevision,
			previous.UpdateRevision,
			previous.CollisionCount
		return status
	}
	wanted := int32(w.size)
	if w.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.UpdatedReplicas == wanted && status.ReadyReplicas == wanted && status.Replicas == wanted {
		status.CurrentReplicas, status.CurrentRevision = status.UpdatedReplicas, status.UpdateRevision
	}
	return status
}

// limitConditions are the conditions that report the limits of package podlimit.
var limitConditions = podlimit.Conditions[appsv1.StatefulSetCondition]{
	Is: func(c appsv1.StatefulSetCondition, message string) bool {
		return c.Type == podlimit.ConditionType && (message == "" || c.Message == message)
	},
	New: func(now metav1.Time, message string) appsv1.StatefulSetCondition {
		return appsv1.StatefulSetCondition{Type: podlimit.ConditionType, Status: corev1.ConditionTrue,
			LastTransitionTime: now, Reason: podlimit.Reason, Message: message}
	},
}

// reportLimit sets the condition that reports why pods are not created now, and records an event if it is new.
func (w *decision) reportLimit() {
	conditions, changed := limitConditions.Update(w.conditions, w.limit.Refusal, w.Now)
	if w.conditions = conditions; changed {
		w.actions = append(w.actions, w.limit.Refusal.Event(w.Set))
	}
}
