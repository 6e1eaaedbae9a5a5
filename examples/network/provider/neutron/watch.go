package neutron

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// state is what Watch remembers of a network.
type state struct {
	uid      types.UID
	name     string
	revision int
}

// Watch implements provider.Provider by polling the list of the plane's networks. It reads no subnets,
// because any change of a subnet raises the revision of its network. It returns as soon as a request fails.
func (p *networks) Watch(ctx context.Context, changed func(types.UID)) error {
	p.takeCreated(map[string]state{})
	defer p.takeCreated(nil)
	last, err := p.states(ctx, nil)
	if err == nil {
		changed("")
	}
	ticker := time.NewTicker(p.poll)
	defer ticker.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		maps.Copy(last, p.takeCreated(map[string]state{}))
		var now map[string]state
		if now, err = p.states(ctx, last); err == nil {
			for uid := range differing(last, now) {
				changed(uid)
			}
			last = now
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return p.api.explain(err, "")
}

// takeCreated returns the networks created since its last call. From now on they are recorded in next, or not at
// all if next is nil.
func (p *networks) takeCreated(next map[string]state) map[string]state {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.created
	p.created = next
	return made
}

// recordCreated records a new network for Watch, so that Watch notices its removal even if it was never listed.
func (p *networks) recordCreated(uid types.UID, n network) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[uid] = n.ID
	if p.created != nil {
		p.created[n.ID] = state{uid, n.Name, n.Revision}
	}
}

// states returns all networks of the plane by Neutron ID. The UID of a renamed network is taken from before.
func (p *networks) states(ctx context.Context, before map[string]state) (map[string]state, error) {
	all, err := p.api.networks(ctx, "description", p.mark())
	now := make(map[string]state, len(all))
	for _, n := range all {
		uid, ok := provider.ParseID(p.plane, n.Name)
		if !ok {
			uid = before[n.ID].uid
		}
		if uid == "" {
			uid = types.UID(n.ID) // as in List
		}
		now[n.ID] = state{uid, n.Name, n.Revision}
	}
	return now, err
}

// differing returns the UIDs of networks that were added, removed or changed.
func differing(a, b map[string]state) map[types.UID]bool {
	uids := map[types.UID]bool{}
	for id := range a {
		if a[id] != b[id] {
			uids[a[id].uid] = true
		}
	}
	for id := range b {
		if a[id] != b[id] {
			uids[b[id].uid] = true
		}
	}
	return uids
}
