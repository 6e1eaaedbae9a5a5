package example

import (
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotation asks for a Deployment to be exposed at a port.
const annotation = "expose"

// desired is the Service that a Deployment is to have, nil for none.
func desired(deployment *appsv1.Deployment) *corev1.Service {
	port, err := strconv.ParseInt(deployment.Annotations[annotation], 10, 32)
	if err != nil {
		return nil
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace,
			Name:      deployment.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment,
				appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: corev1.ServiceSpec{
			Selector: deployment.Spec.Selector.MatchLabels,
			Ports:    []corev1.ServicePort{{Port: int32(port)}},
		},
	}
}

// adjust makes a Service match want, and reports whether it differed.
func adjust(service, want *corev1.Service) bool {
	right := len(service.Spec.Ports) == 1 && service.Spec.Ports[0].Port == want.Spec.Ports[0].Port &&
		reflect.DeepEqual(service.Spec.Selector, want.Spec.Selector)
	service.Spec.Selector, service.Spec.Ports = want.Spec.Selector, want.Spec.Ports
	return !right
}
