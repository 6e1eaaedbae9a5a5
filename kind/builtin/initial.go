package builtin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin/scheduling"
)

// Initial are the objects that every cluster has from the start: four namespaces and the system's priority classes. A
// server creates those that are not there yet. id is the uid of kube-system, by which a cluster is known; empty leaves it
// to the server.
func Initial(id types.UID) []kind.Object {
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
	return objects
}
