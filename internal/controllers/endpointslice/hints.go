package endpointslice

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// hint says in each endpoint for whom it is meant, as the service's trafficDistribution asks for (KEP-3015): those of its zone, or
// its node. Endpoints that are not ready keep what they say. Slices that would stay as they are change when their hints do.
//
// Kubernetes' older annotation service.kubernetes.io/topology-mode, which shares out endpoints by the processors of zones, is not
// looked at.
func (s Seen) hint(p plan, existing []*discoveryv1.EndpointSlice) plan {
	for _, slice := range existing {
		same := func(other *discoveryv1.EndpointSlice) bool { return other.Name == slice.Name }
		if slices.ContainsFunc(p.changed, same) || slices.ContainsFunc(p.deleted, same) {
			continue
		}
		if slices.ContainsFunc(slice.Endpoints, s.misleads) {
			p.changed = append(p.changed, slice.DeepCopy())
		}
	}
	for _, slice := range slices.Concat(p.made, p.changed) {
		for i := range slice.Endpoints {
			slice.Endpoints[i].Hints = s.hints(slice.Endpoints[i])
		}
	}
	return p
}

// misleads says that the hints of an endpoint are others than they should be.
func (s Seen) misleads(e discoveryv1.Endpoint) bool {
	return !equality.Semantic.DeepEqual(e.Hints, s.hints(e))
}

// hints are those that an endpoint should have.
func (s Seen) hints(e discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	zones, nodes := s.distribution()
	switch {
	case !zones:
		return nil
	case e.Conditions.Ready == nil || !*e.Conditions.Ready:
		return e.Hints
	}
	h := &discoveryv1.EndpointHints{}
	if e.Zone != nil {
		h.ForZones = []discoveryv1.ForZone{{Name: *e.Zone}}
	}
	if nodes && e.NodeName != nil {
		h.ForNodes = []discoveryv1.ForNode{{Name: *e.NodeName}}
	}
	if h.ForZones == nil && h.ForNodes == nil {
		return nil
	}
	return h
}

// distribution is whom the service wants its endpoints to be used by: those of the same zone, and before them those of the same node.
func (s Seen) distribution() (zones, nodes bool) {
	switch text(s.Service.Spec.TrafficDistribution) {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		return true, true
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone:
		return true, false
	default:
		return false, false
	}
}
