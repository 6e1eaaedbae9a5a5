package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validatePodStatusUpdate validates a write of the status, as a kubelet sends it.
func validatePodStatusUpdate(pod, old *corev1.Pod) field.ErrorList {
	errs := validateAnnotationUpdate(pod.Annotations, old.Annotations)
	errs = append(errs, validatePodAnnotations(pod.Annotations, &pod.Spec, field.NewPath("metadata", "annotations"))...)
	path, is, was := field.NewPath("status"), &pod.Status, &old.Status
	errs = append(errs, validateConditions(is.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateNomination(pod, old, path.Child("nominatedNodeName"))...)
	errs = append(errs, validateObserved(is.ObservedGeneration, path)...)
	errs = append(errs, apivalidation.ValidateImmutableField(is.QOSClass, was.QOSClass, path.Child("qosClass"))...)
	errs = append(errs, validateTerminated(is.ContainerStatuses, was.ContainerStatuses, path.Child("containerStatuses"),
		mayRestart(&old.Spec, old.Spec.Containers))...)
	errs = append(errs, validateTerminated(is.InitContainerStatuses, was.InitContainerStatuses,
		path.Child("initContainerStatuses"), mayRestart(&old.Spec, old.Spec.InitContainers))...)
	never := func(string, int32) bool { return false }
	errs = append(errs, validateTerminated(is.EphemeralContainerStatuses, was.EphemeralContainerStatuses,
		path.Child("ephemeralContainerStatuses"), never)...)
	errs = append(errs, validateClaimStatuses(is.ResourceClaimStatuses, pod.Spec.ResourceClaims,
		path.Child("resourceClaimStatuses"))...)
	errs = append(errs, validateExtendedClaim(is.ExtendedResourceClaimStatus, &pod.Spec,
		path.Child("extendedResourceClaimStatus"))...)
	errs = append(errs, validatePodIPs(is, was, path.Child("podIPs"))...)
	errs = append(errs, validateHostIPs(is, was, path.Child("hostIPs"))...)
	return append(errs, validateContainerStatuses(pod, path)...)
}

func validateConditions(conditions []corev1.PodCondition, path *field.Path) (errs field.ErrorList) {
	for i := range conditions {
		errs = append(errs, validateObserved(conditions[i].ObservedGeneration, path.Index(i))...)
		switch conditions[i].Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
			continue
		}
		// Kubernetes capitalizes the field too.
		errs = append(errs, fieldcheck.QualifiedName(path.Index(i).Child("Type"), string(conditions[i].Type))...)
	}
	return errs
}

// validateNomination validates a new nominated node, which a pod that is bound to a node cannot have.
func validateNomination(pod, old *corev1.Pod, path *field.Path) (errs field.ErrorList) {
	name := pod.Status.NominatedNodeName
	if name == "" || name == old.Status.NominatedNodeName {
		return nil
	}
	errs = fieldcheck.ObjectName(path, name, false)
	if old.Spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path, "may not be set on pods that are already bound to a node"))
	}
	return errs
}

// validateObserved validates the field observedGeneration of the object at a path.
func validateObserved(generation int64, path *field.Path) field.ErrorList {
	if generation < 0 {
		return field.ErrorList{field.Invalid(path.Child("observedGeneration"), generation,
			"must be a non-negative integer")}
	}
	return nil
}

// mayRestart returns a function that reports whether a container that ended with an exit code may be
// restarted.
func mayRestart(spec *corev1.PodSpec, list []corev1.Container) func(name string, code int32) bool {
	return func(name string, code int32) bool {
		policy := spec.RestartPolicy
		if i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
			if len(list[i].RestartPolicyRules) > 0 {
				return true
			}
			if own := list[i].RestartPolicy; own != nil {
				policy = corev1.RestartPolicy(*own)
			}
		}
		return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
	}
}

// validateTerminated rejects a status in which a container runs again that must not be restarted.
func validateTerminated(is, was []corev1.ContainerStatus, path *field.Path,
	mayRestart func(string, int32) bool) (errs field.ErrorList) {
	for i, old := range was {
		if old.State.Terminated == nil || mayRestart(old.Name, old.State.Terminated.ExitCode) {
			continue
		}
		for _, now := range is {
			if now.Name == old.Name && now.State.Terminated == nil {
				errs = append(errs, field.Forbidden(path.Index(i).Child("state"),
					"may not be transitioned to non-terminated state"))
			}
		}
	}
	return errs
}

func validateClaimStatuses(statuses []corev1.PodResourceClaimStatus, claims []corev1.PodResourceClaim,
	path *field.Path) (errs field.ErrorList) {
	for i, status := range statuses {
		at := path.Index(i).Child("name")
		if !slices.ContainsFunc(claims, func(c corev1.PodResourceClaim) bool { return c.Name == status.Name }) {
			errs = append(errs, field.Invalid(at, status.Name,
				"must match the name of an entry in `spec.resourceClaims`"))
		}
		if slices.ContainsFunc(statuses[:i], func(o corev1.PodResourceClaimStatus) bool {
			return o.Name == status.Name
		}) {
			errs = append(errs, field.Duplicate(at, status.Name))
		}
		if name := status.ResourceClaimName; name != nil {
			errs = append(errs, fieldcheck.Invalid(at, name, apivalidation.NameIsDNSSubdomain(*name, false))...)
		}
	}
	return errs
}

// validatePodIPs allows at most one address per IP family.
func validatePodIPs(is, was *corev1.PodStatus, path *field.Path) (errs field.ErrorList) {
	var ips, old []string
	for _, ip := range was.PodIPs {
		old = append(old, ip.IP)
	}
	for i, ip := range is.PodIPs {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip.IP, true, old)...)
		ips = append(ips, ip.IP)
	}
	errs = append(errs, validateFamilies(ips, Layout(is.PodIPs), path)...)
	for i, ip := range ips {
		if slices.Contains(ips[:i], ip) {
			errs = append(errs, field.Duplicate(path.Index(i), Layout(is.PodIPs[i])))
		}
	}
	return errs
}

func validateHostIPs(is, was *corev1.PodStatus, path *field.Path) (errs field.ErrorList) {
	if len(is.HostIPs) == 0 {
		return nil
	}
	if is.HostIP != is.HostIPs[0].IP {
		errs = append(errs, field.Invalid(path.Index(0).Child("ip"), is.HostIPs[0].IP, "must be equal to `hostIP`"))
	}
	var ips, old []string
	for _, ip := range was.HostIPs {
		old = append(old, ip.IP)
	}
	for i, ip := range is.HostIPs {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip.IP, true, old)...)
		if slices.Contains(ips, ip.IP) {
			errs = append(errs, field.Duplicate(path.Index(i), Layout(ip)))
		}
		ips = append(ips, ip.IP)
	}
	errs = append(errs, validateFamilies(ips, Layout(is.HostIPs), path)...)
	return errs
}

// validateFamilies allows at most one address per IP family. shown is the list as errors show it.
func validateFamilies(ips []string, shown any, path *field.Path) (errs field.ErrorList) {
	if len(ips) < 2 {
		return nil
	}
	dual, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%v", err)))
	}
	if !dual || len(ips) > 2 {
		errs = append(errs, field.Invalid(path, shown, "may specify no more than one IP for each IP family"))
	}
	return errs
}
