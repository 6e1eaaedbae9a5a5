//lint:file-ignore SA1019 Kubernetes has endpoints for its own service still

package builtin

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
)

// apiEndpoints returns the endpoints of the API's service: the server's address and port. A server without a
// reachable address creates none, and clears those of an earlier start.
func apiEndpoints(at netip.AddrPort) []kind.Initial {
	endpoints, slice := endpointsOf(at), sliceOf(at)
	unreached := !at.Addr().IsValid()
	return []kind.Initial{{Object: endpoints, OnlyCorrect: unreached, Correct: func(stored kind.Object) bool {
		old := stored.(*corev1.Endpoints)
		labeled := addLabels(&old.ObjectMeta, endpoints.Labels)
		if equality.Semantic.DeepEqual(old.Subsets, endpoints.Subsets) {
			return labeled
		}
		old.Subsets = endpoints.DeepCopy().Subsets
		return true
	}}, {Object: slice, OnlyCorrect: unreached, NeedsReplacement: func(stored kind.Object) bool {
		return !unreached && stored.(*discoveryv1.EndpointSlice).AddressType != slice.AddressType // immutable
	}, Correct: func(stored kind.Object) bool {
		old := stored.(*discoveryv1.EndpointSlice)
		labeled := addLabels(&old.ObjectMeta, slice.Labels)
		if equality.Semantic.DeepEqual(old.Endpoints, slice.Endpoints) &&
			equality.Semantic.DeepEqual(old.Ports, slice.Ports) {
			return labeled
		}
		old.Endpoints, old.Ports = slice.DeepCopy().Endpoints, slice.DeepCopy().Ports
		return true
	}}}
}

// addLabels reports whether any label was missing.
func addLabels(meta *metav1.ObjectMeta, labels map[string]string) (changed bool) {
	for name, value := range labels {
		if meta.Labels[name] != value {
			metav1.SetMetaDataLabel(meta, name, value)
			changed = true
		}
	}
	return changed
}

func endpointsOf(at netip.AddrPort) *corev1.Endpoints {
	e := &corev1.Endpoints{
		TypeMeta: metav1.TypeMeta{Kind: "Endpoints", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: apiName, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}, // the slice already exists
		},
	}
	if at.Addr().IsValid() {
		e.Subsets = []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: at.Addr().String()}},
			Ports:     []corev1.EndpointPort{{Name: apiPort, Port: int32(at.Port()), Protocol: corev1.ProtocolTCP}},
		}}
	}
	return e
}

func sliceOf(at netip.AddrPort) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: discoveryv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: apiName, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{discoveryv1.LabelServiceName: apiName},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new(apiPort), Port: new(int32(at.Port())),
			Protocol: new(corev1.ProtocolTCP)}},
	}
	if at.Addr().Is6() {
		s.AddressType = discoveryv1.AddressTypeIPv6
	}
	if at.Addr().IsValid() {
		s.Endpoints = []discoveryv1.Endpoint{{
			Addresses:  []string{at.Addr().String()},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}}
	}
	return s
}
