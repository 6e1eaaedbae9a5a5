package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosClass returns the quality of service class that follows from a pod's requests and limits of CPU and
// memory. Source: Kubernetes documentation, Pod Quality of Service Classes.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	if r := pod.Spec.Resources; r != nil && (anyCompute(r.Requests) || anyCompute(r.Limits)) {
		return qosOf(r.Requests, r.Limits, guaranteed(r))
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	all := true
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			r := &list[i].Resources
			addCompute(requests, r.Requests)
			addCompute(limits, r.Limits)
			all = all && boundsBoth(r.Limits)
		}
	}
	return qosOf(requests, limits, all && sameCompute(requests, limits))
}

func qosOf(requests, limits corev1.ResourceList, guaranteed bool) corev1.PodQOSClass {
	switch {
	case !anyCompute(requests) && !anyCompute(limits):
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

var computeResources = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func anyCompute(list corev1.ResourceList) bool {
	for _, name := range computeResources {
		if q, ok := list[name]; ok && q.Sign() > 0 {
			return true
		}
	}
	return false
}

// boundsBoth reports whether a list has positive values for both CPU and memory.
func boundsBoth(list corev1.ResourceList) bool {
	for _, name := range computeResources {
		if q, ok := list[name]; !ok || q.Sign() <= 0 {
			return false
		}
	}
	return true
}

func guaranteed(r *corev1.ResourceRequirements) bool {
	return boundsBoth(r.Limits) && sameCompute(r.Requests, r.Limits)
}

func sameCompute(a, b corev1.ResourceList) bool {
	for _, name := range computeResources {
		if qa, qb := a[name], b[name]; qa.Cmp(qb) != 0 {
			return false
		}
	}
	return true
}

func addCompute(sum, list corev1.ResourceList) {
	for _, name := range computeResources {
		q, ok := list[name]
		if !ok || q.Sign() <= 0 {
			continue
		}
		total, ok := sum[name]
		if !ok {
			total = resource.Quantity{Format: q.Format}
		}
		total.Add(q)
		sum[name] = total
	}
}
