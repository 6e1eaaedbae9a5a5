package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/kind"
)

// namespaceLabels returns the labels of the namespace of an object.
type namespaceLabels = func() (map[string]string, error)

// validateClaimAccess requires that the namespace of a claim allows admin access if a request of a new claim, or the
// first allocation that has it, asks for it.
func validateClaimAccess(obj, before kind.Object, sub string, labels namespaceLabels) field.ErrorList {
	claim := obj.(*resourcev1.ResourceClaim)
	old, _ := before.(*resourcev1.ResourceClaim)
	switch {
	case old == nil:
		return checkAdminAccess(requestWithAccess(claim.Spec.Devices.Requests), labels)
	case sub == "status" && resultWithAccess(&old.Status) == nil:
		return checkAdminAccess(resultWithAccess(&claim.Status), labels)
	}
	return nil
}

// validateTemplateAccess requires that the namespace of a new template allows admin access if a request asks for it.
func validateTemplateAccess(obj, old kind.Object, _ string, labels namespaceLabels) field.ErrorList {
	if old != nil { // the spec cannot change
		return nil
	}
	return checkAdminAccess(requestWithAccess(obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec.Devices.Requests), labels)
}

// requestWithAccess returns the path of the first request for admin access, or nil. Kubernetes shows the same path for
// templates as for claims.
func requestWithAccess(requests []resourcev1.DeviceRequest) *field.Path {
	for i, r := range requests {
		if r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false) {
			return field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// resultWithAccess returns the path of the first device that is allocated for admin access, or nil.
func resultWithAccess(s *resourcev1.ResourceClaimStatus) *field.Path {
	if s.Allocation == nil {
		return nil
	}
	for i, r := range s.Allocation.Devices.Results {
		if ptr.Deref(r.AdminAccess, false) {
			return field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// checkAdminAccess requires the label of namespaces that allow admin access, if path is not nil.
func checkAdminAccess(path *field.Path, labels namespaceLabels) field.ErrorList {
	if path == nil {
		return nil
	}
	has, err := labels()
	if err != nil {
		return field.ErrorList{field.InternalError(path,
			fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	}
	if has[resourcev1.DRAAdminNamespaceLabelKey] != "true" {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"admin access to devices requires the `%s: true` label on the containing namespace",
			resourcev1.DRAAdminNamespaceLabelKey))}
	}
	return nil
}
