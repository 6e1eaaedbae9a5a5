// Package neutron is the provider whose networks are those of OpenStack: for each object a Neutron network with one subnet. It
// talks to Neutron with gophercloud. The controller uses it through provider.Provider.
//
// What is whose, at a glance:
//
//	network  name         bowline.PLANE.UID, the identity of the object; it is there from the first moment
//	         description  made by Bowline, plane PLANE: all of a plane are one filtered list
//	subnet   name         default/example-network, for people
//	         description  bowline.PLANE.UID again: so a network is found that somebody renamed
//
// Anything else of a network is left to others: tags, subnets that they add, pools, routes, name servers. A write says which
// revision of the thing it was decided on (If-Match); if somebody was there in between, Neutron refuses it, and it is read and
// compared again.
package neutron

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

const (
	// DefaultPoll is how often changes behind the controller's back are looked for.
	DefaultPoll = 30 * time.Second
	// DefaultTimeout is how long Neutron may take for an answer.
	DefaultTimeout = 30 * time.Second
)

// Options may all be zero.
type Options struct {
	// Poll is how often Watch looks for changes; 0 means DefaultPoll.
	Poll time.Duration
	// Timeout is how long one request may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// networks is the provider.
type networks struct {
	plane   string
	api     *api
	poll    time.Duration
	log     *slog.Logger
	looks   shared[types.UID, found]
	creates shared[types.UID, network]

	mu sync.Mutex
	// known is what Neutron calls the network of each object, as last seen.
	known map[types.UID]string
	// strays are networks of the plane, by their Neutron id, of which List could not tell whose they are.
	strays map[types.UID]bool
	// made are networks that were made since Watch looked, by their Neutron id; nil while no Watch runs.
	made map[string]state
}

// New makes a provider for one plane, on a client of Neutron's API, which is its own from now on. It asks nothing yet. The result
// is an io.Closer: Close ends what it has under way, and its connections.
func New(plane string, client *gophercloud.ServiceClient, o Options) (provider.Provider, error) {
	if err := provider.CheckPlane(plane); err != nil {
		return nil, err
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &networks{
		plane: plane, poll: o.Poll, log: o.Log,
		api:    &api{client: client, timeout: o.Timeout},
		known:  map[types.UID]string{},
		strays: map[types.UID]bool{},
	}
	p.looks.do, p.creates.do = p.lookAtAll, p.createAll
	return p, nil
}

// Name implements provider.Provider.
func (p *networks) Name() string { return "neutron" }

// ID implements provider.Provider: it is the name of the Neutron network.
func (p *networks) ID(uid types.UID) string { return provider.ID(p.plane, uid) }

// mark is the description of each network of the plane.
func (p *networks) mark() string { return "made by Bowline, plane " + p.plane }

// Alias implements provider.Aliaser with Neutron's own id of the network, as last seen.
func (p *networks) Alias(uid types.UID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := p.known[uid]; id != "" {
		return "Neutron network " + id
	}
	return ""
}

// know remembers what Neutron calls a network; empty means that there is none.
func (p *networks) know(uid types.UID, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		delete(p.known, uid)
	} else {
		p.known[uid] = id
	}
}

// Close ends what is under way for callers that have gone, and closes idle connections. Nothing may be called after it.
func (p *networks) Close() error {
	p.looks.wait()
	p.creates.wait()
	p.api.client.HTTPClient.CloseIdleConnections()
	return nil
}

// List implements provider.Provider. One that somebody renamed, and whose subnet is gone too, is listed under Neutron's own id of
// it, so that it is swept and not forgotten.
func (p *networks) List(ctx context.Context) ([]types.UID, error) {
	all, err := p.api.networks(ctx, "description", p.mark())
	if err != nil {
		return nil, p.explain(err, "")
	}
	seen := map[types.UID]bool{}
	var renamed []string
	for _, n := range all {
		if uid, ok := provider.ParseID(p.plane, n.Name); ok {
			seen[uid] = true
		} else {
			renamed = append(renamed, n.ID)
		}
	}
	strays, err := p.identify(ctx, renamed, seen)
	if err != nil {
		return nil, p.explain(err, "")
	}
	p.mu.Lock()
	p.strays = strays
	p.mu.Unlock()
	uids := make([]types.UID, 0, len(seen)+len(strays))
	for uid := range seen {
		uids = append(uids, uid)
	}
	for id := range strays {
		uids = append(uids, id)
	}
	return uids, nil
}

// identify finds out by their subnets whose the renamed networks are, and notes that in seen. What is left are strays.
func (p *networks) identify(ctx context.Context, renamed []string, seen map[types.UID]bool) (map[types.UID]bool, error) {
	strays := map[types.UID]bool{}
	for _, id := range renamed {
		strays[types.UID(id)] = true
	}
	subnets, err := p.api.subnets(ctx, "network_id", renamed...)
	for _, s := range subnets {
		if uid, ok := provider.ParseID(p.plane, s.Description); ok {
			seen[uid] = true
			delete(strays, types.UID(s.NetworkID))
		}
	}
	return strays, err
}
