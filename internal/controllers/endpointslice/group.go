package endpointslice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/backend"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// group is the endpoints with equal ports, and the slices with these ports.
type group struct {
	ports  []discoveryv1.EndpointPort
	family corev1.IPFamily
	wanted []wanted
	slices []*discoveryv1.EndpointSlice
}

// wanted is a desired endpoint and its pod.
type wanted struct {
	discoveryv1.Endpoint
	pod *corev1.Pod
}

// groups is a list of groups, also indexed by ports.
type groups struct {
	all    []*group
	byPort map[string]*group
}

// groups returns the desired endpoints, grouped by ports: a named port may have different numbers in
// different pods.
func (s Input) groups(family corev1.IPFamily) groups {
	found := groups{byPort: map[string]*group{}}
	for _, pod := range s.Pods {
		if !backend.Reachable(pod) || !s.Service.Spec.PublishNotReadyAddresses && s.Node(pod.Spec.NodeName) == nil {
			continue
		}
		addresses := backend.Addresses(pod, family)
		ports := s.ports(pod)
		key := backend.PortsKey(ports)
		g := found.byPort[key]
		if g == nil {
			g = &group{ports: ports, family: family}
			found.byPort[key], found.all = g, append(found.all, g)
		}
		if len(addresses) > 0 {
			g.wanted = append(g.wanted, wanted{s.endpoint(pod, addresses), pod})
		}
	}
	return found
}

// ports returns the service's ports by their numbers in a pod, without those that the pod does not have.
func (s Input) ports(pod *corev1.Pod) (ports []discoveryv1.EndpointPort) {
	for i := range s.Service.Spec.Ports {
		port := &s.Service.Spec.Ports[i]
		if number, ok := backend.Port(pod, port); ok {
			ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &number, Protocol: &port.Protocol,
				AppProtocol: port.AppProtocol})
		}
	}
	return ports
}

// endpoint returns the endpoint of a pod. A terminating pod is not ready but may still be serving.
func (s Input) endpoint(pod *corev1.Pod, addresses []string) discoveryv1.Endpoint {
	serving, terminating := pods.IsReady(pod), pod.DeletionTimestamp != nil
	ready := s.Service.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses:  addresses,
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  backend.TargetRef(pod),
	}
	if pod.Spec.NodeName != "" {
		e.NodeName = &pod.Spec.NodeName
	}
	if node := s.Node(pod.Spec.NodeName); node != nil && zone(node) != "" {
		z := zone(node)
		e.Zone = &z
	}
	if name := backend.Hostname(pod, s.Service); name != "" {
		e.Hostname = &name
	}
	return e
}

func zone(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }
