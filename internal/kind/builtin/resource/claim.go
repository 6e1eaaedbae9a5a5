package resource

import (
	"maps"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// resourceClaimKind returns the kind of resource claims: requests for devices, by one pod or several. The status has
// the devices that a scheduler allocated, and the pods that may use them.
func resourceClaimKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ResourceClaim", Plural: "resourceclaims", Singular: "resourceclaim",
		Namespaced: true,
		Endpoints:  endpoints("ResourceClaim"), Subresources: statusSubresource(),
		ValidateIn:     validateClaimAccess,
		ReturnsDeleted: true,
	}, kind.Rules[*resourcev1.ResourceClaim]{
		Default:  defaultClaim,
		Prepare:  prepareClaim,
		Validate: fieldcheck.WithFinalizers(validateClaim),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "State", Type: "string",
				Description: "A summary of the current state (allocated, pending, reserved, etc.)."},
			kind.AgeColumn,
		},
		Row: func(c *resourcev1.ResourceClaim, now time.Time) []any {
			return []any{c.Name, claimState(c), kind.Age(c.CreationTimestamp.Time, now)}
		},
		Versions: claimVersions(),
	})
}

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil && len(c.Status.ReservedFor) > 0:
		states = append(states, "allocated", "reserved")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}

func defaultClaim(c *resourcev1.ResourceClaim) {
	defaultRequests(c.Spec.Devices.Requests)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			defaultTolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

func prepareClaim(c, old *resourcev1.ResourceClaim, sub string) {
	if sub != "status" || old == nil {
		dropFromRequests(c.Spec.Devices.Requests)
		return
	}
	restoreMetadata(c, old)
	dropFromAllocation(c.Status.Allocation)
	dropDeallocated(&c.Status, &old.Status)
}

// restoreMetadata restores the metadata in a write of the status. For most kinds, such a write may change labels,
// annotations and finalizers.
func restoreMetadata(obj, old metav1.Object) {
	obj.SetLabels(maps.Clone(old.GetLabels()))
	obj.SetAnnotations(maps.Clone(old.GetAnnotations()))
	obj.SetFinalizers(slices.Clone(old.GetFinalizers()))
}

func validateClaim(c, old *resourcev1.ResourceClaim, sub string) field.ErrorList {
	path := field.NewPath("spec")
	switch {
	case old == nil:
		return checkClaimSpec(&c.Spec, path).all()
	case sub == "status":
		return checkClaimStatus(c, old).all()
	case !equality.Semantic.DeepEqual(c.Spec, old.Spec):
		return field.ErrorList{field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg)}
	}
	return nil
}

// checkClaimSpec checks the spec of a claim or in a claim template.
func checkClaimSpec(spec *resourcev1.ResourceClaimSpec, path *field.Path) (f findings) {
	devices, names, compiling := path.Child("devices"), namesOf(spec.Devices.Requests), newCompilation()
	f.add(uniqueList(spec.Devices.Requests, resourcev1.DeviceRequestsMaxSize,
		func(r *resourcev1.DeviceRequest) string { return r.Name }, devices.Child("requests"), compiling.checkRequest))
	f.add(limitedList(spec.Devices.Constraints, resourcev1.DeviceConstraintsMaxSize, devices.Child("constraints"),
		names.checkConstraint))
	f.add(limitedList(spec.Devices.Config, resourcev1.DeviceConfigMaxSize, devices.Child("config"),
		names.checkClaimConfig))
	f.add(compiling.checkCost(devices))
	return f
}
