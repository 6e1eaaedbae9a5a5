// Package level compares two controllers that maintain the pods of a Deployment, one pod for each number
// below spec.replicas:
//
//	edge/   edge-triggered: reacts to the content of each event
//	level/  level-triggered: compares the actual state with the desired one
//
// docs/level-not-edge.md shows what happens when an event is lost. Both are deliberately short. Bowline's own
// controllers of Deployments are internal/controllers/deployment and internal/controllers/replicaset.
package level

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod returns a Deployment's pod with a number.
func Pod(d *appsv1.Deployment, number int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = d.Namespace, d.Name+"-"+strconv.Itoa(number)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d,
		appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	return p
}

// Replicas returns the number of pods that a Deployment requests.
func Replicas(d *appsv1.Deployment) int { return int(*d.Spec.Replicas) }
