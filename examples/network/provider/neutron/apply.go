package neutron

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// attempts is how often an operation reads and writes if others change the network concurrently.
const attempts = 5

// Apply implements provider.Provider. It writes only what differs.
func (p *networks) Apply(ctx context.Context, want provider.Network) error {
	if err := provider.CheckUID(want.UID); err != nil {
		return err
	}
	if err := checkSupported(want); err != nil {
		return err
	}
	seen, _ := want.Found.(*found)
	return p.act(ctx, want.UID, seen, func(f found) error {
		n, err := p.ensureNetwork(ctx, want.UID, f)
		if err != nil {
			return err
		}
		if err := p.repairNetwork(ctx, n, want.UID); err != nil {
			return err
		}
		editor := subnetEditor{api: p.api, id: p.ID(want.UID), want: want, network: n}
		return editor.ensure(ctx, f.of(n))
	})
}

// Delete implements provider.Provider. Neutron removes a network's subnets with it, or refuses to remove
// anything while the network has ports.
func (p *networks) Delete(ctx context.Context, uid types.UID) error {
	if provider.CheckUID(uid) != nil { // as in Get
		return nil
	}
	return p.act(ctx, uid, nil, func(f found) error {
		var failed []error
		for _, n := range f.networks {
			failed = append(failed, p.api.removeNetwork(ctx, n, p.ID(uid)))
		}
		if err := errors.Join(failed...); err != nil {
			return err
		}
		p.setKnown(uid, "")
		return nil
	})
}

// act reads the networks of an object, unless the caller has just done so, and calls decide with them. It
// repeats both after a concurrent change. It returns errors as explained to the user.
func (p *networks) act(ctx context.Context, uid types.UID, seen *found, decide func(found) error) error {
	var err error
	for range attempts {
		var f found
		if f, err = p.seenOrRead(ctx, uid, seen); err == nil {
			err = decide(f)
		}
		if !errors.Is(err, errConflict) {
			break
		}
		seen = nil
	}
	return p.api.explain(err, p.ID(uid))
}

func (p *networks) seenOrRead(ctx context.Context, uid types.UID, seen *found) (found, error) {
	if seen != nil {
		return *seen, nil
	}
	return p.readFound(ctx, uid)
}

// readFound is like read, but also finds strays, whose uid is a Neutron ID.
func (p *networks) readFound(ctx context.Context, uid types.UID) (found, error) {
	p.mu.Lock()
	stray := p.strays[uid]
	p.mu.Unlock()
	if !stray {
		return p.read(ctx, uid)
	}
	all, err := p.api.networks(ctx, "id", string(uid))
	return found{networks: slices.DeleteFunc(all, func(n network) bool {
		_, identified := provider.ParseID(p.plane, n.Name)
		return identified || n.Description != p.mark()
	})}, err
}

// ensureNetwork creates an object's network if it does not exist, and removes duplicates. Duplicates exist if Neutron
// processed a request whose response was lost, or if two controllers ran.
func (p *networks) ensureNetwork(ctx context.Context, uid types.UID, f found) (network, error) {
	switch len(f.networks) {
	case 0:
		n, err := p.creates.ask(ctx, uid)
		if err == nil {
			p.recordCreated(uid, n)
		}
		return n, err
	case 1:
		return f.networks[0], nil
	}
	keep, others, err := choose(ctx, p.api, f.networks)
	for _, n := range others {
		err = errors.Join(err, p.api.removeNetwork(ctx, n, p.ID(uid)))
	}
	p.setKnown(uid, keep.ID)
	return keep, err
}

// choose decides which of several networks to retain: the oldest one that has ports or, if none has any, the
// oldest.
func choose(ctx context.Context, a *api, several []network) (keep network, others []network, err error) {
	ids := make([]string, 0, len(several))
	for _, n := range several {
		ids = append(ids, n.ID)
	}
	ports, err := a.ports(ctx, ids...)
	if err != nil {
		return network{}, nil, err
	}
	used := map[string]bool{}
	for _, port := range blockingPorts(ports) {
		used[port.NetworkID] = true
	}
	at := max(0, slices.IndexFunc(several, func(n network) bool { return used[n.ID] }))
	return several[at], slices.Delete(slices.Clone(several), at, at+1), nil
}

// createAll creates the networks of several objects with one request, which costs half as much as one request
// for each. If Neutron refuses the request, each network is created alone, so that an error for one object
// does not affect the rest.
func (p *networks) createAll(ctx context.Context, uids []types.UID) map[types.UID]answer[network] {
	var all newNetworks
	for _, uid := range uids {
		all = append(all, gophernetworks.CreateOpts{Name: p.ID(uid), Description: p.mark()})
	}
	made, err := p.api.createNetworks(ctx, all)
	answers := map[types.UID]answer[network]{}
	if refused(err) && len(uids) > 1 {
		for _, uid := range uids {
			maps.Copy(answers, p.createAll(ctx, []types.UID{uid}))
		}
		return answers
	}
	for _, uid := range uids {
		a := answer[network]{err: err}
		if at := slices.IndexFunc(made, func(n network) bool { return n.Name == p.ID(uid) }); at >= 0 {
			a.value = made[at]
		} else if err == nil {
			a.err = errNoNeutron
		}
		answers[uid] = a
	}
	return answers
}

// repairNetwork restores the name, description and state of a network.
func (p *networks) repairNetwork(ctx context.Context, n network, uid types.UID) error {
	var change gophernetworks.UpdateOpts
	if id := p.ID(uid); n.Name != id {
		change.Name = &id
	}
	if mark := p.mark(); n.Description != mark {
		change.Description = &mark
	}
	if up := true; !n.Up {
		change.AdminStateUp = &up
	}
	if change == (gophernetworks.UpdateOpts{}) {
		return nil
	}
	return p.api.updateNetwork(ctx, n, change)
}

// removeNetwork removes a network on the condition that it has not changed since it was read.
func (a *api) removeNetwork(ctx context.Context, n network, id string) error {
	err := a.deleteNetwork(ctx, n)
	if !inUse(err) {
		return err
	}
	return a.inUseProblem(ctx, n.ID, fmt.Sprintf("network %s cannot be removed", id))
}
