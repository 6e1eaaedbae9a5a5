package servicecidr

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// finalizer is the finalizer of each ServiceCIDR.
const finalizer = "networking.k8s.io/service-cidr-finalizer"

// gracePeriod is the time from the deletion of a ServiceCIDR to its removal. As in Kubernetes, servers may assign
// addresses from it until they know of its deletion.
const gracePeriod = 10 * time.Second

// manager is the label value of IPAddresses of services.
const manager = "ipallocator.k8s.io"

// observed is the state that decide sees.
type observed struct {
	cidrs     []*networkingv1.ServiceCIDR
	addresses []*networkingv1.IPAddress
}

// decide returns the next action for a ServiceCIDR: at most one, since each changes its version.
func decide(c *networkingv1.ServiceCIDR, s observed, now time.Time) []action.Action {
	held := slices.Contains(c.Finalizers, finalizer)
	if c.DeletionTimestamp == nil {
		if !held {
			return []action.Action{changeFinalizers(c, "protect", "finalizers")}
		}
		return setCondition(c, metav1.Condition{
			Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready",
		})
	}
	switch left := gracePeriod - now.Sub(c.DeletionTimestamp.Time); {
	case !held:
		return nil
	case s.needs(c):
		return setCondition(c, metav1.Condition{
			Status: metav1.ConditionFalse, Reason: networkingv1.ServiceCIDRReasonTerminating,
			Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new " +
				"ServiceCIDR",
		})
	case left > 0:
		return []action.Action{action.Requeue{After: left}}
	}
	return []action.Action{action.Guard{
		Preconditions: []action.Precondition{unneeded{c}},
		Then:          []action.Action{changeFinalizers(c, "release", "$deleteFromPrimitiveList/finalizers")},
	}}
}

// changeFinalizers patches the finalizers of a ServiceCIDR. verb describes the patch, and list is the strategic merge
// directive.
func changeFinalizers(c *networkingv1.ServiceCIDR, verb, list string) action.Action {
	return action.Patch[*networkingv1.ServiceCIDR]{
		Resource: resource, Object: c, Type: types.StrategicMergePatchType, Verb: verb,
		Body: fmt.Appendf(nil, `{"metadata":{"uid":%q,%q:[%q]}}`, c.UID, list, finalizer),
	}
}

// setCondition sets the condition Ready, unless it is set.
func setCondition(c *networkingv1.ServiceCIDR, condition metav1.Condition) []action.Action {
	condition.Type = networkingv1.ServiceCIDRConditionReady
	c = c.DeepCopy()
	if !meta.SetStatusCondition(&c.Status.Conditions, condition) {
		return nil
	}
	return []action.Action{action.Update[*networkingv1.ServiceCIDR]{Resource: resource, Object: c, Subresource: "status"}}
}

// needs reports whether addresses in use would be in no range without a ServiceCIDR.
func (s observed) needs(c *networkingv1.ServiceCIDR) bool {
	if s.isCovered(c) {
		return false
	}
	for _, ip := range s.addresses {
		addr, err := netip.ParseAddr(ip.Name)
		if err != nil || ip.Labels[networkingv1.LabelManagedBy] != manager || !contains(c, addr) {
			continue
		}
		if !slices.ContainsFunc(s.cidrs, func(other *networkingv1.ServiceCIDR) bool {
			return outlives(other, c) && contains(other, addr)
		}) {
			return true
		}
	}
	return false
}

// isCovered reports whether each range of a ServiceCIDR is part of one of another.
func (s observed) isCovered(c *networkingv1.ServiceCIDR) bool {
	for _, inner := range prefixes(c) {
		if !slices.ContainsFunc(s.cidrs, func(other *networkingv1.ServiceCIDR) bool {
			return outlives(other, c) && slices.ContainsFunc(prefixes(other), func(outer netip.Prefix) bool {
				return outer.Overlaps(inner) && outer.Bits() <= inner.Bits()
			})
		}) {
			return false
		}
	}
	return true
}

// outlives reports whether another ServiceCIDR exists at least as long as c, which is being deleted. Of two that are
// being deleted, the one with the lower name waits for the addresses of both.
func outlives(other, c *networkingv1.ServiceCIDR) bool {
	return other.Name != c.Name && (other.DeletionTimestamp == nil || other.Name < c.Name &&
		slices.Contains(other.Finalizers, finalizer))
}

// contains reports whether an address can be assigned from a ServiceCIDR: one that is neither the first of a range nor,
// of an IPv4 range, the last.
func contains(c *networkingv1.ServiceCIDR, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes(c), func(p netip.Prefix) bool {
		return p.Contains(addr) && p.Masked().Addr() != addr && (addr.Is6() || p.Contains(addr.Next()))
	})
}

func prefixes(c *networkingv1.ServiceCIDR) (all []netip.Prefix) {
	for _, text := range c.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// unneeded checks that the server's addresses do not need a ServiceCIDR: the caches may lack the newest addresses, or
// show a ServiceCIDR that is gone.
type unneeded struct{ cidr *networkingv1.ServiceCIDR }

// String implements fmt.Stringer.
func (u unneeded) String() string { return "check that no address needs " + u.cidr.Name }

// Check implements action.Precondition.
func (u unneeded) Check(ctx context.Context, exec *action.Executor) error {
	cidrs, err := client.Of[*networkingv1.ServiceCIDR](exec.Client, resource).List(ctx, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	used, err := client.Of[*networkingv1.IPAddress](exec.Client, addresses).List(ctx, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	if (observed{cidrs.Items, used.Items}).needs(u.cidr) {
		return fmt.Errorf("%w: an address needs the ServiceCIDR %s", action.ErrStaleCache, u.cidr.Name)
	}
	return nil
}
