package neutron

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// found contains the Neutron resources of one object: one network with one subnet, unless something went
// wrong.
type found struct {
	networks []network // the oldest first
	subnets  []subnet  // subnets of these networks that are marked as the object's, the oldest first
}

// Get implements provider.Provider.
func (p *networks) Get(ctx context.Context, uid types.UID) (provider.Actual, error) {
	if provider.CheckUID(uid) != nil { // such a UID is no part of a name, and Apply rejects it
		return provider.Actual{}, provider.ErrNotFound
	}
	f, err := p.read(ctx, uid)
	if err != nil {
		return provider.Actual{}, p.api.explain(err, p.ID(uid))
	}
	if len(f.networks) == 0 {
		return provider.Actual{Found: &f}, provider.ErrNotFound
	}
	return f.actual(p.ID(uid), p.mark()), nil
}

// read reads the resources of an object, sharing the requests with concurrent callers.
func (p *networks) read(ctx context.Context, uid types.UID) (found, error) {
	f, err := p.looks.ask(ctx, uid)
	if err == nil {
		p.setKnown(uid, f.id())
	}
	return f, err
}

// readMany reads the resources of several objects with two requests.
func (p *networks) readMany(ctx context.Context, uids []types.UID) map[types.UID]answer[found] {
	answers := map[types.UID]answer[found]{}
	all, err := p.readAll(ctx, uids)
	for _, uid := range uids {
		answers[uid] = answer[found]{all[p.ID(uid)], err}
	}
	return answers
}

// readAll finds networks by name and subnets by description, both of which contain the object's ID. A network
// with another name belongs to an object if it contains the object's subnet and has the mark of the plane: a
// copied description alone does not suffice.
func (p *networks) readAll(ctx context.Context, uids []types.UID) (map[string]found, error) {
	ids := make([]string, 0, len(uids))
	for _, uid := range uids {
		ids = append(ids, p.ID(uid))
	}
	networks, err := p.api.networks(ctx, "name", ids...)
	if err != nil {
		return nil, err
	}
	subnets, err := p.api.subnets(ctx, "description", ids...)
	if err != nil {
		return nil, err
	}
	owner := map[string]string{} // ID of the object by Neutron ID of the network
	for _, n := range networks {
		owner[n.ID] = n.Name
	}
	var renamed []string
	for _, s := range subnets {
		if owner[s.NetworkID] == "" {
			owner[s.NetworkID] = s.Description
			renamed = append(renamed, s.NetworkID)
		}
	}
	more, err := p.api.networks(ctx, "id", renamed...)
	if err != nil {
		return nil, err
	}
	for _, n := range more {
		if n.Description == p.mark() {
			networks = append(networks, n)
		}
	}
	return gather(networks, subnets, owner), nil
}

// gather groups networks and subnets by the ID of their object.
func gather(networks []network, subnets []subnet, owner map[string]string) map[string]found {
	slices.SortFunc(networks, func(a, b network) int { return strings.Compare(a.Created+a.ID, b.Created+b.ID) })
	slices.SortFunc(subnets, func(a, b subnet) int { return strings.Compare(a.Created+a.ID, b.Created+b.ID) })
	all := map[string]found{}
	for _, n := range networks {
		f := all[owner[n.ID]]
		f.networks = append(f.networks, n)
		all[owner[n.ID]] = f
	}
	for _, s := range subnets {
		if f := all[owner[s.NetworkID]]; s.Description == owner[s.NetworkID] {
			f.subnets = append(f.subnets, s)
			all[s.Description] = f
		}
	}
	return all
}

// id returns the Neutron ID of the network; empty if there is none.
func (f found) id() string {
	if len(f.networks) == 0 {
		return ""
	}
	return f.networks[0].ID
}

// of returns the subnets in a network.
func (f found) of(n network) []subnet {
	return slices.DeleteFunc(slices.Clone(f.subnets), func(s subnet) bool { return s.NetworkID != n.ID })
}

// actual converts the resources for the comparison by the controller.
func (f found) actual(id, mark string) provider.Actual {
	actual := provider.Actual{ID: id, Found: &f}
	var faults []string
	fault := func(is bool, format string, details ...any) {
		if is {
			faults = append(faults, fmt.Sprintf(format, details...))
		}
	}
	n, subnets := f.networks[0], f.of(f.networks[0])
	fault(len(f.networks) > 1, "there are %d networks for it", len(f.networks))
	fault(n.Name != id, "it was renamed to %q", n.Name)
	fault(n.Description != mark, "its description was changed")
	fault(!n.Up, "it is administratively down")
	fault(len(subnets) == 0, "its subnet is gone")
	fault(len(subnets) > 1, "there are %d subnets for it", len(subnets))
	actual.Fault = strings.Join(faults, ", ")
	if len(subnets) == 1 {
		actual.CIDR, actual.Gateway = subnets[0].prefix(), subnets[0].gateway()
	}
	return actual
}

// prefix returns the subnet's address range, or the zero value if it is invalid.
func (s subnet) prefix() netip.Prefix {
	cidr, _ := netip.ParsePrefix(s.CIDR)
	return cidr
}

// gateway returns the subnet's gateway, or the zero value if it has none.
func (s subnet) gateway() netip.Addr {
	gateway, _ := netip.ParseAddr(s.Gateway)
	return gateway
}
