package claim

import (
	"context"
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Range is a range of addresses for services, and the state of its ServiceCIDR. The commit that assigns an address
// from it expects this state: no address is assigned from a range whose deletion has begun.
type Range struct {
	Prefix netip.Prefix
	// unchanged expects the state; its key is empty if there is nothing to expect.
	unchanged store.Change
}

// has reports whether an address may be assigned from the range: the first and the last one may not.
func (r Range) has(addr netip.Addr) bool {
	return r.Prefix.Contains(addr) && r.Prefix.Masked().Addr() != addr && r.Prefix.Contains(addr.Next())
}

// fewRanges is how many ServiceCIDRs are read without a snapshot.
const fewRanges = 64

// Ranges returns the ranges of the ServiceCIDRs that are ready and not being deleted, in the order of their names. If
// there is no ServiceCIDR, as in a state of an earlier version, the default range is used.
func (s Claims) Ranges(ctx context.Context) ([]Range, error) {
	byDefault := Range{Prefix: netip.MustParsePrefix(kind.DefaultServiceRange)}
	k, ok := s.Kinds.Stored(kind.ServiceCIDRs)
	if !ok || !k.Info().Builtin {
		return []Range{byDefault}, nil
	}
	prefix := object.Prefix(kind.ServiceCIDRs, "")
	all, found, err := s.Store.Few(ctx, prefix, fewRanges)
	if err == nil && !found {
		var snapshot *store.Snapshot
		if snapshot, err = s.Store.Snapshot(ctx, store.Latest()); err == nil {
			snapshot.Scan(prefix, "", func(o *object.Object) bool { all = append(all, o); return true })
		}
	}
	if err != nil {
		return nil, err
	}
	key := object.KeyOf(kind.ServiceCIDRs, "", kind.DefaultServiceCIDR)
	if len(all) == 0 && s.Store.Damage(key) == nil {
		byDefault.unchanged = store.Change{Key: key, Expect: store.Absent(), Unchanged: true}
		return []Range{byDefault}, nil
	}
	var ranges []Range
	for _, o := range all {
		obj, err := stored.Shared(k, o)
		if err != nil {
			return nil, err
		}
		if cidr := obj.(*networkingv1.ServiceCIDR); !o.Uninitialized() && usable(cidr) {
			for _, text := range cidr.Spec.CIDRs {
				if p, err := netip.ParsePrefix(text); err == nil {
					ranges = append(ranges, Range{p, store.Change{Key: o.Key, Expect: store.At(o.Revision),
						Unchanged: true}})
				}
			}
		}
	}
	return ranges, nil
}

// usable reports whether addresses may be assigned from a ServiceCIDR. As in Kubernetes, one without the condition
// Ready is ready: the controller that sets it may not run.
func usable(c *networkingv1.ServiceCIDR) bool {
	ready := func(c metav1.Condition) bool { return c.Type == networkingv1.ServiceCIDRConditionReady }
	i := slices.IndexFunc(c.Status.Conditions, ready)
	return c.DeletionTimestamp == nil && (i < 0 || c.Status.Conditions[i].Status == metav1.ConditionTrue)
}

// within returns the change that expects the state of a range that has the address of a claim.
func within(c kind.Claim, ranges []Range) []store.Change {
	if c.Resource != kind.IPAddresses {
		return nil
	}
	addr, err := netip.ParseAddr(c.Value)
	i := slices.IndexFunc(ranges, func(r Range) bool { return r.has(addr) })
	if err != nil || i < 0 || ranges[i].unchanged.Key == "" {
		return nil
	}
	return []store.Change{ranges[i].unchanged}
}
