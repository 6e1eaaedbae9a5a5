// Package backend is what the controllers of endpoints share: which pods are behind a service, at which of their addresses and
// ports, and which services a pod is behind. It reads objects and decides nothing else.
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
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Services is the resource of services.
var Services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// HasSelector says that a service's endpoints follow from pods. Those of a service without a selector are somebody else's, and a
// service that is another name for something elsewhere has none. A selector that asks for nothing is none: that is how it is
// stored, and read by who was not in the process of its writer.
func HasSelector(service *corev1.Service) bool {
	return len(service.Spec.Selector) > 0 && service.Spec.Type != corev1.ServiceTypeExternalName
}

// IsHeadless says that a service has no address of its own: its name stands for those of its pods.
func IsHeadless(service *corev1.Service) bool {
	return service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.ClusterIP == ""
}

// Of are the pods behind a service, by name.
func Of(service *corev1.Service, all *informer.Informer[*corev1.Pod]) (found []*corev1.Pod) {
	for pod := range all.Indexer().Each("namespace", service.Namespace) {
		if selects(service, pod) {
			found = append(found, pod)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// Before finds the services that pods are behind: what a controller of services is told of a pod that changes.
func Before(services *informer.Informer[*corev1.Service]) func(*corev1.Pod) []controller.Request {
	return func(pod *corev1.Pod) (requests []controller.Request) {
		for service := range services.Indexer().Each("namespace", pod.Namespace) {
			if HasSelector(service) && selects(service, pod) {
				requests = append(requests, informer.KeyOf(service))
			}
		}
		return requests
	}
}

// selects says whether a service has a pod behind it. Unlike a Selector it makes nothing: each change of a pod asks all services.
func selects(service *corev1.Service, pod *corev1.Pod) bool {
	for key, value := range service.Spec.Selector {
		if has, ok := pod.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// Changed passes what may make other endpoints of a pod: whether it is ready, ends or has ended, its addresses, its labels, and
// its name among its kin. The ports that it names never change, but all may of one that has been replaced by another of its
// name.
func Changed(old, now *corev1.Pod) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || pods.IsReady(old) != pods.IsReady(now) || pods.HasEnded(old) != pods.HasEnded(now) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!slices.Equal(old.Status.PodIPs, now.Status.PodIPs) || !maps.Equal(old.Labels, now.Labels) ||
		old.Spec.NodeName != now.Spec.NodeName || old.Spec.Hostname != now.Spec.Hostname || old.Spec.Subdomain != now.Spec.Subdomain
}

// Reachable says that a pod has an address, and something that may answer there.
func Reachable(pod *corev1.Pod) bool { return !pods.HasEnded(pod) && len(pod.Status.PodIPs) > 0 }

// Addresses are a pod's, of one family, in their shortest form.
func Addresses(pod *corev1.Pod, family corev1.IPFamily) (addresses []string) {
	for _, ip := range pod.Status.PodIPs {
		address := netutils.ParseIPSloppy(ip.IP)
		if address != nil && netutils.IsIPv6(address) == (family == corev1.IPv6Protocol) {
			addresses = append(addresses, address.String())
		}
	}
	return addresses
}

// Families are those of a service's addresses. A service of old has none written down: then they are its address's, or both
// where it has none.
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

// Hostname is the name by which a pod is found below the service's, if it has one.
func Hostname(pod *corev1.Pod, service *corev1.Service) string {
	if pod.Spec.Subdomain != service.Name {
		return ""
	}
	return pod.Spec.Hostname
}

// Port is the number of a service's port in a pod; a port that is named is looked up in the containers that run as long as the
// pod does, and ok is false when none has it.
func Port(pod *corev1.Pod, port *corev1.ServicePort) (number int32, ok bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	for i := range pod.Spec.Containers {
		if number, ok = named(&pod.Spec.Containers[i], port); ok {
			return number, true
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if number, ok = named(c, port); ok {
			return number, true
		}
	}
	return 0, false
}

func named(c *corev1.Container, port *corev1.ServicePort) (int32, bool) {
	for _, p := range c.Ports {
		if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol {
			return p.ContainerPort, true
		}
	}
	return 0, false
}

// Reference names a pod in an endpoint.
func Reference(pod *corev1.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// Triggered is when something happened that changes endpoints, for who measures how long it takes until they show it: the service
// was made, if there were none before, or the first of the pods whose endpoints change became ready, or not. The zero time is for
// changes of which nobody knows when they happened.
func Triggered(service *corev1.Service, first bool, changed []*corev1.Pod) (at time.Time) {
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

// Tell writes down in endpoints when what changed them happened.
func Tell(meta *metav1.ObjectMeta, at time.Time) {
	if at.IsZero() {
		delete(meta.Annotations, corev1.EndpointsLastChangeTriggerTime)
		return
	}
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[corev1.EndpointsLastChangeTriggerTime] = at.UTC().Format(time.RFC3339Nano)
}
