package podspec

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// computeResources are the resources that determine the class of service.
var computeResources = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// qosClass returns the quality of service class that follows from a pod's requests and limits of CPU and memory: from
// the pod-level resources if there are any, else from those of the containers. Source: Kubernetes documentation, Pod
// Quality of Service Classes.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	if resourcehelper.IsPodLevelResourcesSet(&corev1.Pod{Spec: corev1.PodSpec{Resources: spec.Resources}}) {
		return classOf(spec.Resources)
	}
	var class corev1.PodQOSClass
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if class = joinClasses(class, classOf(&list[i].Resources)); class == corev1.PodQOSBurstable {
				return class
			}
		}
	}
	if class == "" { // a pod without containers is invalid
		return corev1.PodQOSBestEffort
	}
	return class
}

// classOf returns the class of one set of requests and limits.
func classOf(r *corev1.ResourceRequirements) (class corev1.PodQOSClass) {
	for _, name := range computeResources {
		own := corev1.PodQOSGuaranteed
		switch request, limit := r.Requests[name], r.Limits[name]; {
		case request.Cmp(limit) != 0:
			own = corev1.PodQOSBurstable
		case request.IsZero():
			own = corev1.PodQOSBestEffort
		}
		class = joinClasses(class, own)
	}
	return class
}

// joinClasses returns the class of a pod or container whose parts have the classes a and b. If a is empty, it returns
// b.
func joinClasses(a, b corev1.PodQOSClass) corev1.PodQOSClass {
	if a == "" || a == b {
		return b
	}
	return corev1.PodQOSBurstable
}
