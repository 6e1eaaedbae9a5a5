package neutron

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// maxName is the maximum length of a name in Neutron.
const maxName = 255

// checkSupported refuses what Neutron would refuse, before the existing subnet is removed: the address range of a
// subnet cannot be changed, so a new range requires a new subnet.
func checkSupported(want provider.Network) error {
	why := ""
	switch first := want.CIDR.Addr(); {
	case want.CIDR.Bits() == 0:
		why = "it is all addresses"
	case first.Is4() && want.CIDR.Bits() > 30:
		why = "it has no room for a gateway between its first and last address"
	case first.IsMulticast():
		why = "its addresses are multicast"
	case first.IsLoopback():
		why = "its addresses are loopback"
	case first.IsUnspecified() && first.Is4():
		why = "it begins with 0.0.0.0"
	default:
		return nil
	}
	return &provider.Problem{
		Reason:  provider.Refused,
		Message: fmt.Sprintf("Neutron supports no subnet %s, because %s: declare another spec.cidr", want.CIDR, why),
	}
}

// subnetEditor makes the subnet of an object match in one network.
type subnetEditor struct {
	api     *api
	id      string // the ID of the object
	want    provider.Network
	network network
}

// ensure creates, updates or replaces the subnet where it differs. ours are the subnets of the network that are marked
// as the object's.
func (e *subnetEditor) ensure(ctx context.Context, ours []subnet) error {
	at := slices.IndexFunc(ours, func(s subnet) bool { return s.prefix() == e.want.CIDR })
	if at < 0 && len(e.network.Subnets) > len(ours) {
		twin, err := e.foreignSubnets(ctx, ours)
		if err != nil {
			return err
		}
		if twin != nil {
			at, ours = len(ours), append(slices.Clip(ours), *twin)
		}
	}
	for i, s := range ours {
		if i == at {
			continue
		}
		if err := e.remove(ctx, s); err != nil {
			return err
		}
	}
	if at < 0 {
		return e.create(ctx)
	}
	return e.update(ctx, ours[at])
}

// foreignSubnets checks the subnets that other clients created in our network. A subnet of exactly the wanted
// range is returned to be adopted: Neutron permits no second one, and probably only its mark was lost. It
// fails if a subnet overlaps the wanted range.
func (e *subnetEditor) foreignSubnets(ctx context.Context, ours []subnet) (*subnet, error) {
	all, err := e.api.subnets(ctx, "network_id", e.network.ID)
	if err != nil {
		return nil, err
	}
	var twin *subnet
	for _, s := range all {
		switch {
		case slices.ContainsFunc(ours, func(o subnet) bool { return o.ID == s.ID }):
		case s.prefix() == e.want.CIDR:
			twin = &s
		case s.prefix().Overlaps(e.want.CIDR):
			return nil, &provider.Problem{
				Reason: provider.Refused,
				Message: fmt.Sprintf(
					"network %s has a subnet %s, created by another client, which overlaps with %s: remove it, or declare another spec.cidr",
					e.id, s.CIDR, e.want.CIDR),
			}
		}
	}
	return twin, nil
}

func (e *subnetEditor) create(ctx context.Context) error {
	gateway, dhcp := e.want.Gateway.String(), e.want.CIDR.Bits() <= 126 // Neutron supports no DHCP beyond that
	version := gophercloud.IPv6
	if e.want.CIDR.Addr().Is4() {
		version = gophercloud.IPv4
	}
	return e.api.createSubnet(ctx, gophersubnets.CreateOpts{
		NetworkID: e.network.ID, CIDR: e.want.CIDR.String(), GatewayIP: &gateway, IPVersion: version,
		EnableDHCP: &dhcp, Name: e.want.Owner[:min(len(e.want.Owner), maxName)], Description: e.id,
	})
}

// remove removes a subnet on the condition that it has not changed since it was read.
func (e *subnetEditor) remove(ctx context.Context, s subnet) error {
	err := e.api.deleteSubnet(ctx, s)
	if !inUse(err) {
		return err
	}
	return e.api.inUseProblem(ctx, s.NetworkID,
		fmt.Sprintf("subnet %s of network %s cannot be replaced", s.CIDR, e.id))
}

// update updates the gateway and description of a subnet that has the wanted range.
func (e *subnetEditor) update(ctx context.Context, s subnet) error {
	var change gophersubnets.UpdateOpts
	if s.Description != e.id {
		change.Description = &e.id
	}
	if s.gateway() != e.want.Gateway {
		gateway := e.want.Gateway.String()
		change.GatewayIP, change.AllocationPools = &gateway, poolsFor(s, e.want.Gateway)
	}
	if change.Description == nil && change.GatewayIP == nil {
		return nil
	}
	err := e.api.updateSubnet(ctx, s, change)
	if inUse(err) && !errors.Is(err, errConflict) {
		return e.api.inUseProblem(ctx, s.NetworkID,
			fmt.Sprintf("the gateway of network %s cannot be changed to %s", e.id, e.want.Gateway))
	}
	return err
}

// poolsFor returns the allocation pools for a new gateway, which must not be in a pool. Unmodified pools
// cover all addresses but the gateway's again; modified ones remain, without the gateway's address.
func poolsFor(s subnet, gateway netip.Addr) []gophersubnets.AllocationPool {
	whole := []gophersubnets.AllocationPool{{Start: first(s.prefix()).String(), End: last(s.prefix()).String()}}
	if slices.Equal(s.Pools, without(whole, s.gateway())) {
		return without(whole, gateway)
	}
	return without(s.Pools, gateway)
}

// without removes an address from pools.
func without(pools []gophersubnets.AllocationPool, a netip.Addr) []gophersubnets.AllocationPool {
	var left []gophersubnets.AllocationPool
	keep := func(start, end netip.Addr) {
		if start.Compare(end) <= 0 {
			left = append(left, gophersubnets.AllocationPool{Start: start.String(), End: end.String()})
		}
	}
	for _, pool := range pools {
		start, _ := netip.ParseAddr(pool.Start)
		end, _ := netip.ParseAddr(pool.End)
		if a.Compare(start) < 0 || a.Compare(end) > 0 {
			left = append(left, pool)
			continue
		}
		if a != start {
			keep(start, a.Prev())
		}
		if a != end {
			keep(a.Next(), end)
		}
	}
	return left
}

// first returns the first address of a range that a port may have.
func first(cidr netip.Prefix) netip.Addr { return cidr.Addr().Next() }

// last returns the last address of a range that a port may have. The very last one of IPv4 is for broadcasts.
func last(cidr netip.Prefix) netip.Addr {
	bytes := cidr.Addr().AsSlice()
	for bit := cidr.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(bytes)
	if end.Is4() {
		return end.Prev()
	}
	return end
}
