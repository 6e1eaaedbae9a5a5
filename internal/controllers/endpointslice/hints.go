package endpointslice

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

// hint sets the hints of the plan's slices according to the service's trafficDistribution (KEP-3015), by zone
// or by node. Endpoints that are not ready retain their hints. Slices without other changes are updated if
// their hints change.
//
// The older annotation service.kubernetes.io/topology-mode, which distributes endpoints by the CPUs of zones,
// is not supported.
func (s Input) hint(p plan, existing []*discoveryv1.EndpointSlice) plan {
	for _, slice := range existing {
		same := func(other *discoveryv1.EndpointSlice) bool { return other.Name == slice.Name }
		if slices.ContainsFunc(p.changed, same) || slices.ContainsFunc(p.deleted, same) {
			continue
		}
		if slices.ContainsFunc(slice.Endpoints, s.hasOutdatedHints) {
			p.changed = append(p.changed, slice.DeepCopy())
		}
	}
	for _, slice := range slices.Concat(p.created, p.changed) {
		for i := range slice.Endpoints {
			slice.Endpoints[i].Hints = s.hints(slice.Endpoints[i])
		}
	}
	return p
}

// hasOutdatedHints reports whether the hints of an endpoint are outdated.
func (s Input) hasOutdatedHints(e discoveryv1.Endpoint) bool {
	return !equality.Semantic.DeepEqual(e.Hints, s.hints(e))
}

// hints returns the desired hints of an endpoint.
func (s Input) hints(e discoveryv1.Endpoint) *discoveryv1.EndpointHints {
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

// distribution reports whether the service wants hints by zone, and also by node.
func (s Input) distribution() (zones, nodes bool) {
	switch ptr.Deref(s.Service.Spec.TrafficDistribution, "") {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		return true, true
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone:
		return true, false
	default:
		return false, false
	}
}
