package builtin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin/scheduling"
)

// Initial are the objects that every cluster has from the start: four namespaces, the system's priority classes and the
// service through which the API itself is reached. A server creates those that are not there yet. id is the uid of
// kube-system, by which a cluster is known; empty leaves it to the server. port is where the server listens.
func Initial(id types.UID, port int) []kind.Object {
	var objects []kind.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		ns := &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
		}
		if name == metav1.NamespaceSystem {
			ns.UID = id
		}
		objects = append(objects, ns)
	}
	for _, class := range scheduling.SystemClasses() {
		objects = append(objects, class)
	}
	return append(objects, apiService(port))
}

// apiService is the service kubernetes in the namespace default: clients in a cluster find the API by it. It has the
// first of the services' addresses.
func apiService(port int) *corev1.Service {
	const address = "10.0.0.1"
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubernetes", Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: address, ClusterIPs: []string{address},
			Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt(port)}},
		},
	}
}
