package node

import corev1 "k8s.io/api/core/v1"

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
