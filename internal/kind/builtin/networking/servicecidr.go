package networking

import (
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

// serviceCIDRKind returns the kind of service CIDRs: ranges of addresses for services.
func serviceCIDRKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "ServiceCIDR", Plural: "servicecidrs", Singular: "servicecidr",
		Endpoints: []kind.Endpoint{{Group: networkingv1.GroupName, Version: "v1"}},
		Subresources: []kind.Subresource{{
			Name: "status", Verbs: []string{"get", "patch", "update"}, Preserves: []string{"metadata"},
		}},
	}, kind.Rules[*networkingv1.ServiceCIDR]{
		Prepare:  prepareServiceCIDR,
		Validate: fieldcheck.WithFinalizers(validateServiceCIDR),
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "CIDRs", Type: "string", Description: networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"]},
			kind.AgeColumn,
		},
		Row: func(c *networkingv1.ServiceCIDR, now time.Time) []any {
			return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), kind.Age(c.CreationTimestamp.Time, now)}
		},
	})
}

// prepareServiceCIDR restores the metadata in a write of the status. For most kinds, such a write may change labels,
// annotations and finalizers.
func prepareServiceCIDR(c, old *networkingv1.ServiceCIDR, sub string) {
	if sub != "status" || old == nil {
		return
	}
	c.Labels, c.Annotations = maps.Clone(old.Labels), maps.Clone(old.Annotations)
	c.Finalizers = slices.Clone(old.Finalizers)
}

func validateServiceCIDR(c, old *networkingv1.ServiceCIDR, sub string) (errs field.ErrorList) {
	path := field.NewPath("spec", "cidrs")
	switch {
	case sub == "status":
		return nil
	case old == nil:
		return validateCIDRs(c.Spec.CIDRs, path)
	}
	now, was := c.Spec.CIDRs, old.Spec.CIDRs
	// An update may only add a range of the second IP family.
	added := len(was) == 1 && len(now) == 2
	if len(now) != len(was) && !added {
		return field.ErrorList{field.Invalid(path, now, apivalidation.FieldImmutableErrorMsg)}
	}
	for i := range was {
		if now[i] != was[i] && len(errs) < enough {
			errs = append(errs, field.Invalid(path.Index(i), now[i], apivalidation.FieldImmutableErrorMsg))
		}
	}
	if added {
		errs = append(errs, validateCIDRs(now, path)...)
	}
	return errs
}

// validateCIDRs requires one range, or one of each IP family.
func validateCIDRs(cidrs []string, path *field.Path) (errs field.ErrorList) {
	switch {
	case len(cidrs) == 0:
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	case len(cidrs) > 2:
		// The message shows the spec with the name of Kubernetes' internal field.
		return field.ErrorList{field.Invalid(path, &struct{ CIDRs []string }{cidrs}, "may only hold up to 2 values")}
	}
	for i, c := range cidrs {
		errs = append(errs, validation.IsValidCIDR(path.Index(i), c)...)
	}
	if len(cidrs) == 2 {
		first, second := netutils.IPFamilyOfCIDRString(cidrs[0]), netutils.IPFamilyOfCIDRString(cidrs[1])
		if first == second && first != netutils.IPFamilyUnknown {
			errs = append(errs, field.Invalid(path, cidrs,
				"may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
		}
	}
	return errs
}
