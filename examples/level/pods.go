// Package level compares two ways to keep as many pods as a Deployment asks for, one pod for each number below spec.replicas:
//
//	edge/   hears of an event, and does what that event calls for
//	level/  looks at what there is and at what is asked for, and does away with the difference
//
// docs/level-not-edge.md tells what becomes of each when an event is lost. Both are kept as short as they can be: Bowline's
// own controllers of Deployments are controllers/deployment and controllers/replicaset.
package level

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is a Deployment's pod of a number.
func Pod(d *appsv1.Deployment, number int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = d.Namespace, d.Name+"-"+strconv.Itoa(number)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	return p
}

// Replicas is how many pods a Deployment asks for.
func Replicas(d *appsv1.Deployment) int { return int(*d.Spec.Replicas) }
