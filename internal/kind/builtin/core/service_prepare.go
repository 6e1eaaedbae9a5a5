package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// prepareService makes related fields of a write consistent, before values are assigned: assigned values that
// a client omits are retained, and fields of the old type are cleared (pkg/registry/core/service).
func prepareService(s, old *corev1.Service, sub string) {
	switch {
	case old == nil:
		if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
			s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
		}
	case sub == "":
		keepAssigned(&s.Spec, &old.Spec)
		matchClusterIPs(&s.Spec, &old.Spec)
		dropForType(s, &old.Spec)
	}
	if policy := s.Spec.InternalTrafficPolicy; policy != nil && !hasClusterIP(&s.Spec) &&
		slices.Contains(internalPolicies, *policy) {
		s.Spec.InternalTrafficPolicy = nil
	}
}

// keepAssigned restores assigned values, so that clients can resend their original request.
func keepAssigned(spec, old *corev1.ServiceSpec) {
	if hasClusterIP(old) && hasClusterIP(spec) {
		if spec.ClusterIP == "" {
			spec.ClusterIP = old.ClusterIP
		}
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = slices.Clone(old.ClusterIPs)
		}
	}
	if hasNodePorts(old) && hasNodePorts(spec) {
		keepNodePorts(spec, old)
	}
	if hasHealthCheckPort(old) && hasHealthCheckPort(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = old.HealthCheckNodePort
	}
}

// keepNodePorts restores the node port of the old entry with the same name, unless the client has set it in
// another entry.
func keepNodePorts(spec, old *corev1.ServiceSpec) {
	byName := map[string]int32{}
	for _, p := range old.Ports {
		byName[p.Name] = p.NodePort
	}
	named := nodePortsOf(spec)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if was := byName[p.Name]; p.NodePort == 0 && !named[was] {
			p.NodePort = was
		}
	}
}

func nodePortsOf(spec *corev1.ServiceSpec) map[int32]bool {
	ports := map[int32]bool{}
	for _, p := range spec.Ports {
		if p.NodePort != 0 {
			ports[p.NodePort] = true
		}
	}
	return ports
}

// matchClusterIPs updates clusterIPs for clients that only set clusterIP.
func matchClusterIPs(spec, old *corev1.ServiceSpec) {
	samePlural := slices.Equal(spec.ClusterIPs, old.ClusterIPs)
	switch {
	case spec.ClusterIP == old.ClusterIP:
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = slices.Clone(old.ClusterIPs)
		}
	case spec.ClusterIP == "" && samePlural:
		spec.ClusterIPs = nil
	case samePlural:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}

// dropForType clears fields that the new type does not have, unless the client has changed them too:
// validation rejects that.
func dropForType(s *corev1.Service, old *corev1.ServiceSpec) {
	spec := &s.Spec
	if hasClusterIP(old) && !hasClusterIP(spec) {
		dropClusterIPs(spec, old)
	}
	if hasNodePorts(old) && !hasNodePorts(spec) && onlyOldNodePorts(spec, old) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if hasHealthCheckPort(old) && !hasHealthCheckPort(spec) && spec.HealthCheckNodePort == old.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if isExternal(old) && !isExternal(spec) && spec.ExternalTrafficPolicy == old.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		return
	}
	if old.Type == corev1.ServiceTypeLoadBalancer {
		if equality.Semantic.DeepEqual(spec.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if equality.Semantic.DeepEqual(spec.LoadBalancerClass, old.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
}

func dropClusterIPs(spec, old *corev1.ServiceSpec) {
	if spec.ClusterIP == old.ClusterIP && slices.Equal(spec.ClusterIPs, old.ClusterIPs) {
		spec.ClusterIP, spec.ClusterIPs = "", nil
	}
	if slices.Equal(spec.IPFamilies, old.IPFamilies) {
		spec.IPFamilies = nil
	}
	if equality.Semantic.DeepEqual(spec.IPFamilyPolicy, old.IPFamilyPolicy) {
		spec.IPFamilyPolicy = nil
	}
}

// onlyOldNodePorts reports whether the old spec has every node port of spec.
func onlyOldNodePorts(spec, old *corev1.ServiceSpec) bool {
	before := nodePortsOf(old)
	for port := range nodePortsOf(spec) {
		if !before[port] {
			return false
		}
	}
	return true
}
