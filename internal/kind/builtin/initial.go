package builtin

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/scheduling"
)

// Initial returns the objects that every cluster has from the start: four namespaces, the system's priority
// classes, the range of service addresses, and the service of the API with its endpoints. A server creates those that
// do not exist, and the namespaces and the range also while it runs. id is the uid of kube-system, which identifies the
// cluster; if it is empty, the server generates one. at is the address of the server, with which the service of an
// earlier start is updated; an invalid address means that other machines cannot reach the server.
func Initial(id types.UID, at netip.AddrPort) []kind.Initial {
	var objects []kind.Initial
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic,
		corev1.NamespaceNodeLease} {
		ns := &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
		}
		if name == metav1.NamespaceSystem {
			ns.UID = id
		}
		objects = append(objects, kind.Initial{Object: ns, Keep: true})
	}
	for _, class := range scheduling.SystemClasses() {
		objects = append(objects, kind.Initial{Object: class})
	}
	objects = append(objects, kind.Initial{Object: serviceCIDR(), Keep: true},
		kind.Initial{Object: serviceCIDR(), OnlyCorrect: true, Subresource: "status", Correct: setReady, Keep: true})
	port := int(at.Port())
	return append(append(objects, kind.Initial{Object: apiService(port), Correct: setTargetPort(port)}),
		apiEndpoints(at)...)
}

// serviceCIDR returns the object with the default range of service addresses.
func serviceCIDR() *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		TypeMeta:   metav1.TypeMeta{Kind: "ServiceCIDR", APIVersion: networkingv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: kind.DefaultServiceCIDR},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{kind.DefaultServiceRange}},
	}
}

// setReady sets the condition of the default range, unless a controller has set it, or a user has chosen another range
// (pkg/controlplane/controller/defaultservicecidr).
func setReady(stored kind.Object) bool {
	c := stored.(*networkingv1.ServiceCIDR)
	ready := meta.FindStatusCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if c.DeletionTimestamp != nil || !slices.Equal(c.Spec.CIDRs, serviceCIDR().Spec.CIDRs) ||
		ready != nil && ready.Status != metav1.ConditionUnknown {
		return false
	}
	return meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes default Service CIDR is ready",
	})
}

// setTargetPort corrects the target port of the API's service. Kubernetes has not done so since 1.17, because its
// port does not change between starts; that of a server that listens on any free port does.
func setTargetPort(port int) func(kind.Object) bool {
	return func(stored kind.Object) bool {
		ports := stored.(*corev1.Service).Spec.Ports
		for i := range ports {
			if ports[i].Name == apiPort && ports[i].TargetPort.IntValue() != port {
				ports[i].TargetPort = intstr.FromInt(port)
				return true
			}
		}
		return false
	}
}

// Names of the API's service and its port.
const apiName, apiPort = "kubernetes", "https"

// apiService returns the service kubernetes in the namespace default, through which clients in a cluster find
// the API. It has the first service address.
func apiService(port int) *corev1.Service {
	const address = "10.0.0.1"
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: apiName, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: address, ClusterIPs: []string{address},
			Ports: []corev1.ServicePort{{Name: apiPort, Protocol: corev1.ProtocolTCP, Port: 443,
				TargetPort: intstr.FromInt(port)}},
		},
	}
}
