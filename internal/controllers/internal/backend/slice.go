package backend

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// LeaderAnnotation marks Endpoints that old programs use for leader election (client-go's EndpointsLock).
// Their subsets belong to those programs.
const LeaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// PortsKey returns a key that is equal for equal ports in any order. Slices with equal ports can exchange endpoints.
func PortsKey(ports []discoveryv1.EndpointPort) string {
	keys := make([]string, len(ports))
	for i, p := range ports {
		keys[i] = fmt.Sprintf("%q %s %d %q", ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, ""), ptr.Deref(p.Port, -1),
			ptr.Deref(p.AppProtocol, ""))
	}
	slices.Sort(keys)
	return strings.Join(keys, ";")
}

// EndpointKey returns the key of an endpoint: its addresses, its host name and its target. A change of another field
// is made in place.
func EndpointKey(e *discoveryv1.Endpoint) string {
	addresses := slices.Sorted(slices.Values(e.Addresses))
	name := ""
	if e.TargetRef != nil {
		name = e.TargetRef.Namespace + "/" + e.TargetRef.Name
	}
	return name + " " + ptr.Deref(e.Hostname, "") + " " + strings.Join(addresses, " ")
}
