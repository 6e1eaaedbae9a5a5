package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
)

// validateResources validates requests and limits: names, quantities, and that no request exceeds its limit.
// named validates the names of resources.
func validateResources(r *corev1.ResourceRequirements, named func(corev1.ResourceName, *field.Path) field.ErrorList,
	claims []corev1.PodResourceClaim, path *field.Path) (errs field.ErrorList) {
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range fieldcheck.SortedKeys(r.Limits) {
		at := limits.Key(string(name))
		errs = append(errs, named(name, at)...)
		errs = append(errs, ValidateQuantity(name, r.Limits[name], at)...)
	}
	for _, name := range fieldcheck.SortedKeys(r.Requests) {
		at, q := requests.Key(string(name)), r.Requests[name]
		errs = append(errs, named(name, at)...)
		errs = append(errs, ValidateQuantity(name, q, at)...)
		errs = append(errs, validateRequest(name, q, r.Limits, requests, limits)...)
	}
	if (hasHugePages(r.Limits) || hasHugePages(r.Requests)) && !hasCompute(r.Limits) && !hasCompute(r.Requests) {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return append(errs, validateClaimNames(r.Claims, claims, path.Child("claims"))...)
}

// validateRequest compares a request with its limit. Resources that cannot be overcommitted need equal
// values.
func validateRequest(name corev1.ResourceName, q resource.Quantity, limits corev1.ResourceList, requestsPath,
	limitsPath *field.Path) field.ErrorList {
	limit, limited := limits[name]
	switch {
	case limited && !mayOvercommit(name) && q.Cmp(limit) != 0:
		return field.ErrorList{field.Invalid(requestsPath, q.String(),
			fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))}
	case limited && q.Cmp(limit) > 0:
		return field.ErrorList{field.Invalid(requestsPath, q.String(),
			fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))}
	case !limited && !mayOvercommit(name):
		return field.ErrorList{field.Required(limitsPath, "Limit must be set for non overcommitable resources")}
	}
	return nil
}

// ValidateQuantity requires a nonnegative quantity, an integer for resources that have no fractions.
func ValidateQuantity(name corev1.ResourceName, q resource.Quantity, path *field.Path) (errs field.ErrorList) {
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(path, q.String(), "must be greater than or equal to 0"))
	}
	if IsWhole(name) && q.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, q, "must be an integer"))
	}
	if IsHugePages(name) && !divisiblePages(name, q) {
		errs = append(errs, field.Invalid(path, q.String(),
			fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name)))
	}
	return errs
}

// divisiblePages reports whether a quantity is a multiple of the page size.
func divisiblePages(name corev1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil {
		return false
	}
	pages := size.Value()
	return pages > 0 && q.Value()%pages == 0
}

// standardResources are the resource names without a domain.
var standardResources = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourceEphemeralStorage: true,
	corev1.ResourceRequestsCPU: true, corev1.ResourceRequestsMemory: true,
	corev1.ResourceRequestsEphemeralStorage: true,
	corev1.ResourceLimitsCPU:                true, corev1.ResourceLimitsMemory: true,
	corev1.ResourceLimitsEphemeralStorage: true,
	corev1.ResourcePods:                   true, corev1.ResourceQuotas: true, corev1.ResourceServices: true,
	corev1.ResourceReplicationControllers: true, corev1.ResourceSecrets: true, corev1.ResourceConfigMaps: true,
	corev1.ResourcePersistentVolumeClaims: true, corev1.ResourceStorage: true, corev1.ResourceRequestsStorage: true,
	corev1.ResourceServicesNodePorts: true, corev1.ResourceServicesLoadBalancers: true,
}

// IsStandard reports whether a resource name without a domain is known to Kubernetes.
func IsStandard(name corev1.ResourceName) bool { return standardResources[name] }

// computeName validates the name of any resource.
func computeName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := fieldcheck.Invalid(path, name, validation.IsQualifiedName(string(name))); errs != nil {
		return errs
	}
	if !strings.Contains(string(name), "/") && !standardResources[name] && !IsHugePages(name) {
		return field.ErrorList{field.Invalid(path, name, "must be a standard resource type or fully qualified")}
	}
	return nil
}

// containerResourceName validates the name of a resource of a container: CPU, memory and the like, or that of
// a device.
func containerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if isContainerResource(name) {
		return nil
	}
	errs := computeName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if !IsHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !IsNative(name) && !isExtended(name):
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// ValidateResourceName validates the name of a resource: a standard one, also of a quota of huge pages, or one with a
// domain.
func ValidateResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := fieldcheck.Invalid(path, name, validation.IsQualifiedName(string(name))); len(errs) > 0 {
		return errs
	}
	if strings.Contains(string(name), "/") || IsStandard(name) || IsHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be a standard resource type or fully qualified")}
}

// ValidateContainerResource validates the name of a resource of a container outside of a pod, such as in a metric or a
// limit.
func ValidateContainerResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := ValidateResourceName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage &&
			!IsHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !IsNative(name) && !IsWhole(name): // IsWhole is true for all valid names of devices
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// podResourceName validates the name of a pod-level resource.
func podResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := computeName(name, path); errs != nil {
		return errs
	}
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		return field.ErrorList{field.NotSupported(path, name,
			fieldcheck.SortedKeys(resourcehelper.SupportedPodLevelResources()))}
	}
	return nil
}

func isContainerResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// IsHugePages reports whether a resource is huge pages of some size.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsNative reports whether a resource is one of Kubernetes' own.
func IsNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether a name is valid for a device: it has a domain, and leaves room for the prefix in
// quotas.
func isExtended(name corev1.ResourceName) bool {
	if IsNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// mayOvercommit reports whether the limit of a resource may exceed its request.
func mayOvercommit(name corev1.ResourceName) bool { return IsNative(name) && !IsHugePages(name) }

// IsWhole reports whether quantities of a resource must be integers.
func IsWhole(name corev1.ResourceName) bool {
	if isContainerResource(name) {
		return false
	}
	switch name {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isExtended(name)
}

func hasHugePages(list corev1.ResourceList) bool {
	for name := range list {
		if IsHugePages(name) {
			return true
		}
	}
	return false
}

func hasCompute(list corev1.ResourceList) bool {
	for _, name := range computeResources {
		if _, ok := list[name]; ok {
			return true
		}
	}
	return false
}

// validateClaimNames validates the claims that a container uses: they must be unique, and defined in the pod.
func validateClaimNames(used []corev1.ResourceClaim, claims []corev1.PodResourceClaim,
	path *field.Path) (errs field.ErrorList) {
	for i, claim := range used {
		at := path.Index(i)
		if claim.Name == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		if claim.Request != "" {
			errs = append(errs, fieldcheck.LabelName(at.Child("request"), claim.Request)...)
		}
		if key, overlaps := overlappingClaim(used[:i], claim); overlaps {
			errs = append(errs, field.Duplicate(at, key))
		}
		if !slices.ContainsFunc(claims, func(c corev1.PodResourceClaim) bool { return c.Name == claim.Name }) {
			errs = append(errs, claimNotFound(at, claim.Name, claims))
		}
	}
	return errs
}

// overlappingClaim returns an earlier use of the same request of a claim. An empty request means all
// requests.
func overlappingClaim(before []corev1.ResourceClaim, claim corev1.ResourceClaim) (string, bool) {
	for _, o := range before {
		switch {
		case o.Name != claim.Name:
		case o.Request == "" || claim.Request == "":
			return claim.Name, true
		case o.Request == claim.Request:
			return claim.Name + "/" + claim.Request, true
		}
	}
	return "", false
}

func claimNotFound(path *field.Path, name string, claims []corev1.PodResourceClaim) *field.Error {
	var names []string
	for _, c := range claims {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	err := field.NotFound(path, name)
	err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
	if len(names) > 0 {
		err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(slices.Compact(names), ", ")
	}
	return err
}

// validatePodClaims validates the resource claims of a pod.
func validatePodClaims(claims []corev1.PodResourceClaim, path *field.Path) (errs field.ErrorList) {
	for i, claim := range claims {
		at := path.Index(i)
		switch {
		case claim.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case slices.ContainsFunc(claims[:i], func(o corev1.PodResourceClaim) bool { return o.Name == claim.Name }):
			errs = append(errs, field.Duplicate(at.Child("name"), claim.Name))
		default:
			errs = append(errs, fieldcheck.LabelName(at.Child("name"), claim.Name)...)
		}
		switch name, template := claim.ResourceClaimName, claim.ResourceClaimTemplateName; {
		case name != nil && template != nil:
			errs = append(errs, field.Invalid(at, Layout(claim),
				"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		case name == nil && template == nil:
			errs = append(errs, field.Invalid(at, Layout(claim),
				"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if name := claim.ResourceClaimName; name != nil {
			errs = append(errs, fieldcheck.ObjectName(at.Child("resourceClaimName"), *name, false)...)
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			errs = append(errs, fieldcheck.ObjectName(at.Child("resourceClaimTemplateName"), *name, false)...)
		}
	}
	return errs
}
