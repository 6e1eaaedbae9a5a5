package podspec

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateContainerStatuses validates the users that containers run as, and the health of their devices. Ephemeral
// containers have no devices.
func validateContainerStatuses(pod *corev1.Pod, path *field.Path) (errs field.ErrorList) {
	status, spec := &pod.Status, &pod.Spec
	regular, initial := path.Child("containerStatuses"), path.Child("initContainerStatuses")
	ephemeral := path.Child("ephemeralContainerStatuses")
	errs = append(errs, validateUsers(status.ContainerStatuses, spec.OS, regular)...)
	errs = append(errs, validateUsers(status.InitContainerStatuses, spec.OS, initial)...)
	errs = append(errs, validateUsers(status.EphemeralContainerStatuses, spec.OS, ephemeral)...)
	extended := status.ExtendedResourceClaimStatus
	errs = append(errs, validateDevicesHealth(status.ContainerStatuses, spec.Containers, extended, regular)...)
	errs = append(errs, validateDevicesHealth(status.InitContainerStatuses, spec.InitContainers, extended, initial)...)
	for i := range status.EphemeralContainerStatuses {
		if len(status.EphemeralContainerStatuses[i].AllocatedResourcesStatus) > 0 {
			errs = append(errs, field.Forbidden(ephemeral.Index(i).Child("allocatedResourcesStatus"),
				"must not be specified in container status"))
		}
	}
	return errs
}

// validateUsers validates the users that the container runtime reports. They include IDs that a spec may not have.
func validateUsers(list []corev1.ContainerStatus, os *corev1.PodOS, path *field.Path) (errs field.ErrorList) {
	name := corev1.Linux
	if os != nil {
		name = os.Name
	}
	for i := range list {
		if list[i].User == nil || list[i].User.Linux == nil {
			continue
		}
		user, at := list[i].User.Linux, path.Index(i).Child("user", "linux")
		switch name {
		case corev1.Windows:
			errs = append(errs, field.Forbidden(at, "cannot be set for a windows pod"))
		case corev1.Linux:
			if user.UID < 0 || user.UID > math.MaxUint32 {
				errs = append(errs, field.Invalid(at.Child("uid"), user.UID,
					fmt.Sprintf("must be between 0 and %d, inclusive", int64(math.MaxUint32))))
			}
			errs = append(errs, fieldcheck.Invalid(at.Child("gid"), user.GID, validation.IsValidGroupID(user.GID))...)
			for g, group := range user.SupplementalGroups {
				errs = append(errs, fieldcheck.Invalid(at.Child("supplementalGroups").Index(g), group,
					validation.IsValidGroupID(group))...)
			}
		}
	}
	return errs
}

// claimPrefix precedes the names of claims among the names of allocated resources.
const claimPrefix = "claim:"

// validateDevicesHealth validates the health of allocated resources. Each has the name of a resource that the container
// requests, or of a claim that it uses.
func validateDevicesHealth(list []corev1.ContainerStatus, containers []corev1.Container,
	extended *corev1.PodExtendedResourceClaimStatus, path *field.Path) (errs field.ErrorList) {
	byName := make(map[string]*corev1.Container, len(containers))
	for i := range containers {
		if c := &containers[i]; byName[c.Name] == nil {
			byName[c.Name] = c
		}
	}
	for i := range list {
		resources := list[i].AllocatedResourcesStatus
		if len(resources) == 0 {
			continue
		}
		container, at := byName[list[i].Name], path.Index(i).Child("allocatedResourcesStatus")
		names := allocatable(container, extended)
		for r := range resources {
			// The status of a container that the spec lacks is ignored, as in Kubernetes.
			if name := resources[r].Name; container != nil && !names[name] {
				message := "must match one of the container's resource requests"
				if strings.HasPrefix(string(name), claimPrefix) {
					message = "must match one of the container's resource claims as " +
						"'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or " +
						"'claim:<claimName>' when it is empty"
				}
				errs = append(errs, field.Invalid(at.Index(r).Child("name"), name, message))
			}
			errs = append(errs, validateHealth(resources[r].Resources, at.Index(r).Child("resources"))...)
		}
	}
	return errs
}

// allocatable returns the valid names of the allocated resources of a container, which may be nil.
func allocatable(c *corev1.Container,
	extended *corev1.PodExtendedResourceClaimStatus) map[corev1.ResourceName]bool {
	names := map[corev1.ResourceName]bool{}
	if c == nil {
		return names
	}
	for name := range c.Resources.Requests {
		if !strings.HasPrefix(string(name), claimPrefix) {
			names[name] = true
		}
	}
	for _, claim := range c.Resources.Claims {
		name := claimPrefix + claim.Name
		if claim.Request != "" {
			name += "/" + claim.Request
		}
		names[corev1.ResourceName(name)] = true
	}
	if extended == nil || extended.ResourceClaimName == "" {
		return names
	}
	for _, m := range extended.RequestMappings {
		if m.ContainerName != c.Name || m.RequestName == "" {
			continue
		}
		if q, ok := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; ok && !q.IsZero() {
			names[corev1.ResourceName(claimPrefix+extended.ResourceClaimName+"/"+m.RequestName)] = true
		}
	}
	return names
}

func validateHealth(devices []corev1.ResourceHealth, path *field.Path) (errs field.ErrorList) {
	seen := make(map[corev1.ResourceID]bool, len(devices))
	for i := range devices {
		d, at := &devices[i], path.Index(i)
		errs = append(errs, fieldcheck.OneOf(at.Child("health"), d.Health, corev1.ResourceHealthStatusHealthy,
			corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)...)
		if text := d.Message; text != nil {
			switch {
			case *text == "":
				errs = append(errs, field.Required(at.Child("message"), "must be non-empty if specified"))
			case len(*text) > corev1.ResourceHealthMessageMaxLength:
				errs = append(errs, field.TooLong(at.Child("message"), *text, corev1.ResourceHealthMessageMaxLength))
			}
		}
		if seen[d.ResourceID] {
			errs = append(errs, field.Duplicate(at.Child("resourceID"), d.ResourceID))
		}
		seen[d.ResourceID] = true
	}
	return errs
}

// validateExtendedClaim validates the claim that the scheduler has created for extended resources, and which requests
// of the claim serve which containers.
func validateExtendedClaim(status *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec,
	path *field.Path) (errs field.ErrorList) {
	if status == nil {
		return nil
	}
	containers := map[string]*corev1.Container{}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			containers[list[i].Name] = &list[i]
		}
	}
	mappings := path.Child("requestMappings")
	if len(status.RequestMappings) == 0 {
		errs = append(errs, field.Required(mappings, "at least one request mapping is required"))
	}
	seen := make(map[corev1.ContainerExtendedResourceRequest]bool, len(status.RequestMappings))
	for i, m := range status.RequestMappings {
		at := mappings.Index(i)
		if c := containers[m.ContainerName]; c == nil {
			errs = append(errs, field.Invalid(at.Child("containerName"), m.ContainerName,
				"must match the name of an entry in spec.initContainers.name or spec.containers.name"))
		} else if _, ok := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
			errs = append(errs, field.Invalid(at.Child("resourceName"), m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests "+
					"or spec.containers.resources.requests"))
		}
		errs = append(errs, fieldcheck.LabelName(path.Child("requestName"), m.RequestName)...)
		if seen[m] {
			errs = append(errs, field.Duplicate(at.Child("containerName"), m.ContainerName),
				field.Duplicate(at.Child("resourceName"), m.ResourceName),
				field.Duplicate(at.Child("requestName"), m.RequestName))
		}
		seen[m] = true
	}
	if status.ResourceClaimName == "" {
		return append(errs, field.Required(path.Child("resourceClaimName"), ""))
	}
	return append(errs, fieldcheck.ObjectName(path.Child("resourceClaimName"), status.ResourceClaimName, false)...)
}
