package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind"
)

// allocator is the value of the label of the IPAddresses that the server maintains, and recorder their field manager,
// as in Kubernetes.
const allocator, recorder = "ipallocator.k8s.io", "kube-apiserver"

// recordedFields are the fields that recordAddress sets, as in metadata.managedFields.
const recordedFields = `{"f:metadata":{"f:labels":{".":{},"f:ipaddress.kubernetes.io/ip-family":{},` +
	`"f:ipaddress.kubernetes.io/managed-by":{}}},"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},` +
	`"f:resource":{}}}}`

// recordAddress returns the IPAddress that shows that a service has an address.
func recordAddress(c kind.Claim, s *corev1.Service) kind.Object {
	family := corev1.IPv4Protocol
	if netutils.IsIPv6String(c.Value) {
		family = corev1.IPv6Protocol
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	return &networkingv1.IPAddress{
		TypeMeta: metav1.TypeMeta{Kind: "IPAddress", APIVersion: networkingv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Value, CreationTimestamp: now,
			Labels: map[string]string{
				networkingv1.LabelIPAddressFamily: string(family), networkingv1.LabelManagedBy: allocator,
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: recorder, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now,
				APIVersion: networkingv1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(recordedFields),
			}},
		},
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: s.Namespace, Name: s.Name},
		},
	}
}
