package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// compute are the resources that a resize of a pod can change.
var compute = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// setResources sets the resources that the node itself has, and makes all capacity allocatable. The capacity of other
// resources stays: a client advertises an extended resource of a node by patching its capacity, and withdraws it by
// removing that. As a kubelet does, an extended resource without capacity is not allocatable.
func setResources(status *corev1.NodeStatus, own corev1.ResourceList) {
	capacity := make(corev1.ResourceList, len(status.Capacity)+len(own))
	for _, list := range []corev1.ResourceList{status.Capacity, own} {
		for name, quantity := range list {
			capacity[name] = quantity
		}
	}
	allocatable := make(corev1.ResourceList, len(capacity))
	for name, quantity := range status.Allocatable {
		if !isExtended(name) {
			allocatable[name] = quantity
		}
	}
	for name, quantity := range capacity {
		allocatable[name] = quantity.DeepCopy()
	}
	status.Capacity, status.Allocatable = capacity, allocatable
}

// podResources returns the resources that a pod has as a whole, and those that its node has allocated to it. While it
// runs, the former are what its cgroup has: CPU and memory, and a limit only if it limits all containers.
func podResources(pod *corev1.Pod, phase corev1.PodPhase) (*corev1.ResourceRequirements, corev1.ResourceList) {
	options := resourcehelper.PodResourcesOptions{}
	requests, limits := resourcehelper.PodRequests(pod, options), resourcehelper.PodLimits(pod, options)
	all := &corev1.ResourceRequirements{}
	if pod.Spec.Resources != nil {
		all = pod.Spec.Resources.DeepCopy()
	}
	if phase != corev1.PodRunning {
		all.Requests, all.Limits = requests, limits
		return all, requests
	}
	set := func(list *corev1.ResourceList, from corev1.ResourceList, name corev1.ResourceName) {
		quantity, found := from[name]
		if !found || quantity.IsZero() {
			return
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity
	}
	for _, name := range compute {
		set(&all.Requests, requests, name)
		if isLimited(&pod.Spec, name) {
			set(&all.Limits, limits, name)
		}
	}
	return all, requests
}

// isLimited reports whether a pod as a whole has a limit for a resource: its own, or those of all its containers.
func isLimited(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	if spec.Resources != nil {
		if q := spec.Resources.Limits[name]; !q.IsZero() {
			return true
		}
	}
	unlimited := func(c corev1.Container) bool {
		q := c.Resources.Limits[name]
		return q.IsZero()
	}
	return !slices.ContainsFunc(spec.InitContainers, unlimited) && !slices.ContainsFunc(spec.Containers, unlimited)
}
