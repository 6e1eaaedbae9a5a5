package discovery

import "strings"

// priorities are those of the built-in groups, as in kube-apiserver: discovery documents list groups with a higher one
// first, and clients that find a resource name in two groups use the first. The group extensions, which only old
// manifests use, is not among them.
var priorities = map[string]int{
	"apiregistration.k8s.io": 20001, "": 18000, "apps": 17800, "events.k8s.io": 17750,
	"authentication.k8s.io": 17700, "authorization.k8s.io": 17600, "autoscaling": 17500, "batch": 17400,
	"certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100, "rbac.authorization.k8s.io": 17000,
	"storage.k8s.io": 16800, "admissionregistration.k8s.io": 16700, "apiextensions.k8s.io": 16700,
	"scheduling.k8s.io": 16600, "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
	"resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100, "storagemigration.k8s.io": 15800,
}

// customGroup and customVersion are the priorities of custom resources.
const customGroup, customVersion = 1000, 100

// GroupPriority returns the priority of a group among all: that of a built-in group, or that of custom resources.
func GroupPriority(group string) int {
	if p, builtin := priorities[group]; builtin {
		return p
	}
	return customGroup
}

// VersionPriority returns the priority of a version in its group. Those of custom resources have the same priority;
// their names decide the order.
func VersionPriority(group, version string) int {
	if _, builtin := priorities[group]; !builtin {
		return customVersion
	}
	switch {
	case group == "":
		return 1
	case group == "autoscaling" && version == "v2":
		return 30
	case strings.Contains(version, "alpha"):
		return 1
	case strings.Contains(version, "beta"):
		return 9
	case group == "resource.k8s.io", group == "flowcontrol.apiserver.k8s.io":
		return 21
	}
	return 15
}
