package podspec

import corev1 "k8s.io/api/core/v1"

// prepareStatus restores the fields that a write of the status cannot change, and those that are missing because the
// types of an older client lack them. An empty list, unlike a missing one, clears a field.
func prepareStatus(pod, old *corev1.Pod) {
	pod.OwnerReferences = old.OwnerReferences
	is, was := &pod.Status, &old.Status
	if is.QOSClass == "" {
		is.QOSClass = was.QOSClass
	}
	if is.ResourceClaimStatuses == nil {
		is.ResourceClaimStatuses = was.ResourceClaimStatuses
	}
	if is.ExtendedResourceClaimStatus == nil {
		is.ExtendedResourceClaimStatus = was.ExtendedResourceClaimStatus
	}
	if is.NodeAllocatableResourceClaimStatuses == nil {
		is.NodeAllocatableResourceClaimStatuses = was.NodeAllocatableResourceClaimStatuses
	}
	keepObserved(is, was)
	dropGatedStatus(is, was)
}

// keepObserved restores observed generations that a client drops.
func keepObserved(is, was *corev1.PodStatus) {
	if is.ObservedGeneration == 0 {
		is.ObservedGeneration = was.ObservedGeneration
	}
	observed := map[corev1.PodConditionType][]int64{} // several conditions may have the same type
	for i := range was.Conditions {
		c := &was.Conditions[i]
		observed[c.Type] = append(observed[c.Type], c.ObservedGeneration)
	}
	for i := range is.Conditions {
		c := &is.Conditions[i]
		before := observed[c.Type]
		if len(before) == 0 {
			continue
		}
		observed[c.Type] = before[1:]
		if c.ObservedGeneration == 0 && before[0] != 0 {
			c.ObservedGeneration = before[0]
		}
	}
}

// dropGatedStatus drops the fields of features that are disabled by default in Kubernetes 1.37, unless the old status
// has them: DRANodeAllocatableResources, CSIVolumeHealth and ImageVolumeWithDigest.
func dropGatedStatus(is, was *corev1.PodStatus) {
	if len(was.NodeAllocatableResourceClaimStatuses) == 0 {
		is.NodeAllocatableResourceClaimStatuses = nil
	}
	if len(was.VolumeHealth) == 0 {
		is.VolumeHealth = nil
	}
	if !hasVolumeStatus(was) && hasVolumeStatus(is) {
		eachMountStatus(is, func(m *corev1.VolumeMountStatus) { m.VolumeStatus = nil })
	}
}

func hasVolumeStatus(status *corev1.PodStatus) (has bool) {
	eachMountStatus(status, func(m *corev1.VolumeMountStatus) { has = has || m.VolumeStatus != nil })
	return has
}

func eachMountStatus(status *corev1.PodStatus, visit func(*corev1.VolumeMountStatus)) {
	for _, list := range [][]corev1.ContainerStatus{
		status.ContainerStatuses, status.InitContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			for m := range list[i].VolumeMounts {
				visit(&list[i].VolumeMounts[m])
			}
		}
	}
}
