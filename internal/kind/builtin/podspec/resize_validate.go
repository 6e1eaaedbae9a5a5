package podspec

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const onlyComputeChanges = "only cpu and memory resources are mutable"

// validateResize validates a write of pods/resize. Only CPU and memory, of the pod and its containers, may change, and
// none may be removed. The class of service must remain the same, because the kubelet has placed the pod in the cgroup
// of its class.
func validateResize(pod, old *corev1.Pod) field.ErrorList {
	switch {
	case IsMirror(old):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := validateWholePod(pod, old)
	path := field.NewPath("spec")
	class := old.Status.QOSClass
	if class == "" {
		class = qosClass(&old.Spec)
	}
	if class != qosClass(&pod.Spec) {
		errs = append(errs, field.Invalid(path, pod.Status.QOSClass,
			"Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(&old.Status) {
		errs = append(errs, field.Forbidden(path, "Pod running on node without support for resize"))
	}
	// fixed is the new spec with CPU and memory reset to the old values: any remaining difference is an error.
	fixed := pod.Spec.DeepCopy()
	if hasPodResources(&old.Spec) || hasPodResources(&pod.Spec) {
		errs = append(errs, validatePodResize(fixed, &pod.Spec, &old.Spec, path)...)
	}
	if moved := validateSameContainers(&pod.Spec, &old.Spec, path); len(moved) > 0 {
		return append(errs, moved...)
	}
	errs = append(errs, validateRemovedResources(pod.Spec.InitContainers, old.Spec.InitContainers,
		path.Child("initContainers"))...)
	errs = append(errs, validateRemovedResources(pod.Spec.Containers, old.Spec.Containers, path.Child("containers"))...)
	errs = append(errs, validateOtherChanges(fixed, &old.Spec, path)...)
	if len(errs) == 0 && !equality.Semantic.DeepEqual(fixed, &old.Spec) {
		errs = append(errs, field.Forbidden(path, onlyComputeChanges))
	}
	return errs
}

// nodeResizes reports whether the node of a pod can resize it. A kubelet that supports this reports the resources of
// running containers. While no container runs, the result is true.
func nodeResizes(status *corev1.PodStatus) bool {
	for i := range status.ContainerStatuses {
		if c := &status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

func hasPodResources(spec *corev1.PodSpec) bool {
	return spec.Resources != nil && len(spec.Resources.Requests)+len(spec.Resources.Limits) > 0
}

// validatePodResize validates the change of the pod-level resources, and resets CPU and memory in fixed.
func validatePodResize(fixed, spec, old *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	at := path.Child("resources")
	var was corev1.ResourceRequirements
	if old.Resources != nil {
		was = *old.Resources
		if spec.Resources == nil {
			return field.ErrorList{field.Forbidden(at, "pod-level resources cannot be removed")}
		}
		if removed(spec.Resources.Requests, was.Requests) {
			errs = append(errs, field.Forbidden(at.Child("requests"), "pod-level resource requests cannot be removed"))
		}
		if removed(spec.Resources.Limits, was.Limits) {
			errs = append(errs, field.Forbidden(at.Child("limits"), "pod-level resource limits cannot be removed"))
		}
	}
	resetCompute(fixed.Resources, &was)
	r := fixed.Resources
	if old.Resources == nil && len(r.Requests)+len(r.Limits)+len(r.Claims) == 0 {
		fixed.Resources = nil
	}
	if !equality.Semantic.DeepEqual(fixed.Resources, old.Resources) {
		errs = append(errs, field.Forbidden(path, onlyComputeChanges+" at pod-level"))
	}
	return errs
}

// validateSameContainers checks that the containers have the same names in the same order.
func validateSameContainers(spec, old *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for _, lists := range []struct {
		name    string
		is, was []corev1.Container
	}{
		{"containers", spec.Containers, old.Containers},
		{"initContainers", spec.InitContainers, old.InitContainers},
	} {
		at := path.Child(lists.name)
		if len(lists.is) != len(lists.was) {
			errs = append(errs, field.Forbidden(at, lists.name+" may not be added or removed on resize"))
			continue
		}
		for i := range lists.was {
			if lists.is[i].Name != lists.was[i].Name {
				errs = append(errs, field.Forbidden(at.Index(i).Child("name"),
					lists.name+" may not be renamed or reordered on resize"))
			}
		}
	}
	return errs
}

// validateRemovedResources rejects containers that lose a request or a limit.
func validateRemovedResources(is, was []corev1.Container, path *field.Path) (errs field.ErrorList) {
	for i := range was {
		at := path.Index(i).Child("resources")
		if removed(is[i].Resources.Requests, was[i].Resources.Requests) {
			errs = append(errs, field.Forbidden(at.Child("requests"), "resource requests cannot be removed"))
		}
		if removed(is[i].Resources.Limits, was[i].Resources.Limits) {
			errs = append(errs, field.Forbidden(at.Child("limits"), "resource limits cannot be removed"))
		}
	}
	return errs
}

// removed reports whether a list lacks a resource of the old list.
func removed(is, was corev1.ResourceList) bool {
	for name := range was {
		if _, ok := is[name]; !ok {
			return true
		}
	}
	return false
}

// validateOtherChanges resets CPU and memory of the containers in fixed, and rejects other changes. An init container
// that a resize would restart cannot be resized at all, unless it is a sidecar.
func validateOtherChanges(fixed, old *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for i := range fixed.Containers {
		is, was := &fixed.Containers[i], &old.Containers[i]
		resetCompute(&is.Resources, &was.Resources)
		if !equality.Semantic.DeepEqual(is, was) {
			errs = append(errs, field.Forbidden(path, onlyComputeChanges))
		}
	}
	for i := range fixed.InitContainers {
		is, was, at := &fixed.InitContainers[i], &old.InitContainers[i], path.Child("initContainers").Index(i)
		if equality.Semantic.DeepEqual(is, was) {
			continue
		}
		resetCompute(&is.Resources, &was.Resources)
		if !equality.Semantic.DeepEqual(is, was) {
			errs = append(errs, field.Forbidden(at,
				"only cpu and memory resources for init or sidecar containers are mutable"))
		}
		if IsSidecar(is) {
			continue
		}
		for _, p := range is.ResizePolicy {
			if p.RestartPolicy == corev1.RestartContainer {
				errs = append(errs, field.Forbidden(at,
					"non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	return errs
}

// resetCompute resets the CPU and memory of resources to the old values.
func resetCompute(r, old *corev1.ResourceRequirements) {
	r.Requests = withComputeOf(r.Requests, old.Requests)
	r.Limits = withComputeOf(r.Limits, old.Limits)
}

func withComputeOf(list, old corev1.ResourceList) corev1.ResourceList {
	list = maps.Clone(list)
	for _, name := range computeResources {
		q, had := old[name]
		switch {
		case !had:
			delete(list, name)
		case list == nil:
			list = corev1.ResourceList{name: q}
		default:
			list[name] = q
		}
	}
	return list
}
