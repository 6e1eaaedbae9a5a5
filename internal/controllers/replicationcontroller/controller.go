// Package replicationcontroller implements the ReplicationController controller by means of package
// replicaset. It converts between the two kinds: a ReplicationController's selector is a map of labels, and
// its status does not count the pods that are being deleted.
package replicationcontroller

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
)

// Name is the controller's name in --controllers.
const Name = "replicationcontroller"

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return replicaset.AddKind(m, replicaset.Config[*corev1.ReplicationController]{
		Name: Name, Component: "replication-controller",
		In:   corev1.SchemeGroupVersion.WithResource("replicationcontrollers"),
		Kind: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		Set:  setOf, WithStatus: withStatus,
	})
}

// setOf converts a ReplicationController.
func setOf(rc *corev1.ReplicationController) (replicaset.Set, error) {
	if rc.Spec.Template == nil || len(rc.Spec.Selector) == 0 {
		return replicaset.Set{},
			errors.New("it has no template or no selector, which the server should have rejected")
	}
	s := replicaset.Set{
		Replicas: int(ptr.Deref(rc.Spec.Replicas, 1)), MinReady: rc.Spec.MinReadySeconds,
		Selector: labels.SelectorFromSet(rc.Spec.Selector), Template: rc.Spec.Template,
		Status: appsv1.ReplicaSetStatus{
			Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas,
			ReadyReplicas: rc.Status.ReadyReplicas, AvailableReplicas: rc.Status.AvailableReplicas,
			ObservedGeneration: rc.Status.ObservedGeneration,
		},
	}
	for _, c := range rc.Status.Conditions {
		s.Status.Conditions = append(s.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return s, nil
}

// withStatus returns a copy of a ReplicationController with another status.
func withStatus(rc *corev1.ReplicationController, status appsv1.ReplicaSetStatus) *corev1.ReplicationController {
	rc = rc.DeepCopy()
	rc.Status = corev1.ReplicationControllerStatus{
		Replicas: status.Replicas, FullyLabeledReplicas: status.FullyLabeledReplicas,
		ReadyReplicas: status.ReadyReplicas, AvailableReplicas: status.AvailableReplicas,
		ObservedGeneration: status.ObservedGeneration,
	}
	for _, c := range status.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return rc
}
