package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// defaultPodResources completes the pod-level resources of a pod that has any. Limits of huge pages are the sums of the
// containers' limits; requests are the sums of the containers' requests, or else the limits; and other limits are the
// sums of the containers' limits, if all containers have one, but at least the requests. Each step uses the results of
// the previous one. Source: KEP-2837, Pod Level Resource Specifications.
func defaultPodResources(spec *corev1.PodSpec) {
	if !hasPodResources(spec) || !summable(spec) {
		return
	}
	r := spec.Resources
	sums := resourcehelper.AggregateContainerLimits(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	for name, q := range sums {
		if _, requested := r.Requests[name]; IsHugePages(name) && !requested {
			setMissing(&r.Limits, name, q)
		}
	}
	for name, q := range sumOfRequests(spec) {
		if resourcehelper.IsSupportedPodLevelResource(name) && mayOvercommit(name) {
			setMissing(&r.Requests, name, q)
		}
	}
	for name, q := range r.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			setMissing(&r.Requests, name, q)
		}
	}
	limited := limitedEverywhere(spec)
	for name, request := range r.Requests {
		sum, ok := sums[name]
		if !ok || !limited[name] || !resourcehelper.IsSupportedPodLevelResource(name) {
			continue
		}
		if request.Cmp(sum) > 0 {
			sum = request
		}
		setMissing(&r.Limits, name, sum)
	}
}

// setMissing adds a resource to a list that lacks it.
func setMissing(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if _, ok := (*list)[name]; ok {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q.DeepCopy()
}

// limitedEverywhere returns the resources that all containers limit. Ephemeral containers have no limits.
func limitedEverywhere(spec *corev1.PodSpec) map[corev1.ResourceName]bool {
	containers, limits := 0, map[corev1.ResourceName]int{}
	eachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) {
		containers++
		for name := range c.Resources.Limits {
			limits[name]++
		}
	})
	all := map[corev1.ResourceName]bool{}
	for name, n := range limits {
		all[name] = n == containers
	}
	return all
}

func sumOfRequests(spec *corev1.PodSpec) corev1.ResourceList {
	return resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
}

// maxSums is the maximum number of quantities that are added up for a pod's init containers.
const maxSums = 1 << 18

// summable reports whether the resources of a pod's containers can be added up in a short time. The resources of
// sidecars are added to those of each later init container.
func summable(spec *corev1.PodSpec) bool {
	sidecars := 0
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; IsSidecar(c) {
			sidecars += max(len(c.Resources.Requests), len(c.Resources.Limits))
		}
	}
	return sidecars*len(spec.InitContainers) <= maxSums
}

// validatePodResources validates the pod-level resources, and checks that they cover those of the containers.
func validatePodResources(s *podScope, path *field.Path) (errs field.ErrorList) {
	r := s.spec.Resources
	switch {
	case r == nil:
		return nil
	case s.spec.OS != nil && s.spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(path, "may not be set for a windows pod")}
	}
	if r.Claims != nil {
		errs = append(errs, field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	errs = append(errs, validateResources(r, podResourceName, s.spec.ResourceClaims, path)...)
	if !summable(s.spec) {
		return append(errs, field.Forbidden(path, "the init containers have too many resources to be added up"))
	}
	return append(errs, validateCovered(s.spec, path)...)
}

// validateCovered checks that pod-level requests cover the sums of the containers' requests, and pod-level limits each
// container's limits and, because huge pages cannot be overcommitted, the sums of their limits of huge pages.
func validateCovered(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	r, sums := spec.Resources, sumOfRequests(spec)
	for _, name := range fieldcheck.SortedKeys(sums) {
		q, set := r.Requests[name]
		if sum := sums[name]; set && sum.Cmp(q) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), q.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String()))
		}
	}
	sums = resourcehelper.AggregateContainerLimits(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	for _, name := range fieldcheck.SortedKeys(sums) {
		q, set := r.Limits[name]
		if sum := sums[name]; set && IsHugePages(name) && sum.Cmp(q) > 0 {
			errs = append(errs, field.Invalid(path.Child("limits").Key(string(name)), q.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String()))
		}
	}
	for i := range spec.Containers {
		limits := spec.Containers[i].Resources.Limits
		for _, name := range fieldcheck.SortedKeys(limits) {
			limit, whole := limits[name], r.Limits[name]
			if _, set := r.Limits[name]; set && limit.Cmp(whole) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"),
					limit.String(), "must be less than or equal to pod limits of "+whole.String()))
			}
		}
	}
	return errs
}
