// Package backend computes which pods are behind a Service, and their addresses and ports. The controllers of
// Endpoints and EndpointSlices share it.
package backend

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Services is the resource of Services.
var Services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// HasSelector reports whether a Service's endpoints are derived from pods. The endpoints of a Service without
// a selector are managed by its user, and an ExternalName Service has none. An empty selector counts as none,
// because the two are the same once stored.
func HasSelector(service *corev1.Service) bool {
	return len(service.Spec.Selector) > 0 && service.Spec.Type != corev1.ServiceTypeExternalName
}

// IsHeadless reports whether a Service has no cluster IP: its name resolves to the addresses of its pods.
func IsHeadless(service *corev1.Service) bool {
	return service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.ClusterIP == ""
}

// Pods returns the pods that a Service selects, sorted by name.
func Pods(service *corev1.Service, all *informer.Informer[*corev1.Pod]) (found []*corev1.Pod) {
	for pod := range all.Indexer().Each("namespace", service.Namespace) {
		if selects(service, pod) {
			found = append(found, pod)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// ServicesOf returns a function that maps a pod to the Services that select it.
func ServicesOf(services *informer.Informer[*corev1.Service]) func(*corev1.Pod) []controller.Request {
	return func(pod *corev1.Pod) (requests []controller.Request) {
		for service := range services.Indexer().Each("namespace", pod.Namespace) {
			if HasSelector(service) && selects(service, pod) {
				requests = append(requests, informer.KeyOf(service))
			}
		}
		return requests
	}
}

// selects reports whether a Service selects a pod. Unlike a labels.Selector it does not allocate: it runs for
// every Service on each change of a pod.
func selects(service *corev1.Service, pod *corev1.Pod) bool {
	for key, value := range service.Spec.Selector {
		if has, ok := pod.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// PodChanged reports whether a change of a pod can change endpoints: its readiness, phase, deletion,
// addresses, labels, node or host name. The ports of a pod never change, but a new pod of the same name,
// recognized by its UID, may have others.
func PodChanged(old, now *corev1.Pod) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || pods.IsReady(old) != pods.IsReady(now) ||
		pods.IsTerminal(old) != pods.IsTerminal(now) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!slices.Equal(old.Status.PodIPs, now.Status.PodIPs) || !maps.Equal(old.Labels, now.Labels) ||
		old.Spec.NodeName != now.Spec.NodeName || old.Spec.Hostname != now.Spec.Hostname ||
		old.Spec.Subdomain != now.Spec.Subdomain
}

// Reachable reports whether a pod has an address and has not terminated.
func Reachable(pod *corev1.Pod) bool { return !pods.IsTerminal(pod) && len(pod.Status.PodIPs) > 0 }

// Addresses returns a pod's addresses of one family in canonical form.
func Addresses(pod *corev1.Pod, family corev1.IPFamily) (addresses []string) {
	for _, ip := range pod.Status.PodIPs {
		address := netutils.ParseIPSloppy(ip.IP)
		if address != nil && netutils.IsIPv6(address) == (family == corev1.IPv6Protocol) {
			addresses = append(addresses, address.String())
		}
	}
	return addresses
}

// Families returns the IP families of a Service. A Service from before dual stack does not state them: then
// they follow from its cluster IP, and without a cluster IP are both.
func Families(service *corev1.Service) []corev1.IPFamily {
	if len(service.Spec.IPFamilies) > 0 {
		return service.Spec.IPFamilies
	}
	switch ip := service.Spec.ClusterIP; {
	case netutils.IsIPv6String(ip):
		return []corev1.IPFamily{corev1.IPv6Protocol}
	case IsHeadless(service):
		return []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	default:
		return []corev1.IPFamily{corev1.IPv4Protocol}
	}
}

// Hostname returns the host name of a pod in the Service's DNS subdomain, or the empty string if the pod is
// not in that subdomain.
func Hostname(pod *corev1.Pod, service *corev1.Service) string {
	if pod.Spec.Subdomain != service.Name {
		return ""
	}
	return pod.Spec.Hostname
}

// Port returns the number of a Service's port in a pod. A named port is looked up in the containers and the
// sidecar containers; ok is false if none has it.
func Port(pod *corev1.Pod, port *corev1.ServicePort) (number int32, ok bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	for i := range pod.Spec.Containers {
		if number, ok = containerPort(&pod.Spec.Containers[i], port); ok {
			return number, true
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if number, ok = containerPort(c, port); ok {
			return number, true
		}
	}
	return 0, false
}

func containerPort(c *corev1.Container, port *corev1.ServicePort) (int32, bool) {
	for _, p := range c.Ports {
		if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol {
			return p.ContainerPort, true
		}
	}
	return 0, false
}

// TargetRef returns the reference of an endpoint to its pod.
func TargetRef(pod *corev1.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// TriggerTime returns the time of the change that caused an update of endpoints, from which clients measure
// the latency of the update: the creation of the Service if it had no endpoints before, or else the earliest
// readiness transition of the pods that changed. It is zero if that time is unknown.
func TriggerTime(service *corev1.Service, first bool, changed []*corev1.Pod) (at time.Time) {
	if first {
		return service.CreationTimestamp.Time
	}
	for _, pod := range changed {
		for _, c := range pod.Status.Conditions {
			since := c.LastTransitionTime.Time
			if c.Type == corev1.PodReady && !since.IsZero() && (at.IsZero() || since.Before(at)) {
				at = since
			}
		}
	}
	return at
}

// SetTriggerTime records at in the annotation of endpoints, or removes the annotation if at is zero.
func SetTriggerTime(meta *metav1.ObjectMeta, at time.Time) {
	if at.IsZero() {
		delete(meta.Annotations, corev1.EndpointsLastChangeTriggerTime)
		return
	}
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[corev1.EndpointsLastChangeTriggerTime] = at.UTC().Format(time.RFC3339Nano)
}
