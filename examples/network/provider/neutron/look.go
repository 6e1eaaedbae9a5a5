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

// found is what Neutron has for one object: one network with one subnet, unless something went wrong.
type found struct {
	networks []network // the oldest first
	subnets  []subnet  // those of the networks' that are marked as the object's, the oldest first
}

// Get implements provider.Provider.
func (p *networks) Get(ctx context.Context, uid types.UID) (provider.Actual, error) {
	f, err := p.look(ctx, uid)
	if err != nil {
		return provider.Actual{}, p.explain(err, p.ID(uid))
	}
	if len(f.networks) == 0 {
		return provider.Actual{Found: &f}, provider.ErrNotFound
	}
	return f.actual(p.ID(uid), p.mark()), nil
}

// look reads what there is for an object, together with what others want to know at that time.
func (p *networks) look(ctx context.Context, uid types.UID) (found, error) {
	f, err := p.looks.ask(ctx, uid)
	if err == nil {
		p.know(uid, f.id())
	}
	return f, err
}

// lookAtAll reads what there is for several objects, with two requests.
func (p *networks) lookAtAll(ctx context.Context, uids []types.UID) map[types.UID]answer[found] {
	answers := map[types.UID]answer[found]{}
	all, err := p.read(ctx, uids)
	for _, uid := range uids {
		answers[uid] = answer[found]{all[p.ID(uid)], err}
	}
	return answers
}

// read finds networks by their name and subnets by their description, by the objects' IDs. A network with another name is an
// object's if it has its subnet, and is marked as the plane's: a description that somebody copied gives nothing away.
func (p *networks) read(ctx context.Context, uids []types.UID) (map[string]found, error) {
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
	owner := map[string]string{} // of a network, by its Neutron id
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

// gather sorts networks and subnets by the objects that they are there for.
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

// id is what Neutron calls the network; empty for none.
func (f found) id() string {
	if len(f.networks) == 0 {
		return ""
	}
	return f.networks[0].ID
}

// of is those of the subnets that are in a network.
func (f found) of(n network) []subnet {
	return slices.DeleteFunc(slices.Clone(f.subnets), func(s subnet) bool { return s.NetworkID != n.ID })
}

// actual is what was found, as the controller compares it.
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

// prefix is the subnet's address range, the zero value for one that does not parse.
func (s subnet) prefix() netip.Prefix {
	cidr, _ := netip.ParsePrefix(s.CIDR)
	return cidr
}

// gateway is the subnet's gateway, the zero value for none.
func (s subnet) gateway() netip.Addr {
	gateway, _ := netip.ParseAddr(s.Gateway)
	return gateway
}
