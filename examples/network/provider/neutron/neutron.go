// Package neutron implements provider.Provider with OpenStack: each object has a Neutron network with one
// subnet. It accesses Neutron through gophercloud.
//
// Names and descriptions identify the owner:
//
//	network  name         bowline.PLANE.UID, the identity of the object, set on creation
//	         description  made by Bowline, plane PLANE, so that one filtered list returns a plane's networks
//	subnet   name         default/example-network, for people
//	         description  bowline.PLANE.UID, so that a renamed network is still found
//
// Everything else in a network is left to others: tags, further subnets, pools, routes, name servers. Each
// write names the revision of the resource on which it was decided (If-Match). If another client has changed
// the resource since, Neutron refuses the write, and the provider reads and compares again.
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
	// DefaultPoll is the interval at which Watch lists networks.
	DefaultPoll = 30 * time.Second
	// DefaultTimeout is the time limit of a request.
	DefaultTimeout = 30 * time.Second
)

// Options configure a provider. The zero value is valid.
type Options struct {
	// Poll is the interval at which Watch lists networks; 0 means DefaultPoll.
	Poll time.Duration
	// Timeout is the time limit of a request; 0 means DefaultTimeout.
	Timeout time.Duration
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// networks implements provider.Provider.
type networks struct {
	plane   string
	api     *api
	poll    time.Duration
	log     *slog.Logger
	looks   shared[types.UID, found]
	creates shared[types.UID, network]

	mu sync.Mutex
	// known is the last observed Neutron ID of each object's network.
	known map[types.UID]string
	// strays are networks of the plane, by Neutron ID, whose object List could not determine.
	strays map[types.UID]bool
	// created are networks created since the last poll of Watch, by Neutron ID; nil while no Watch runs.
	created map[string]state
}

// New returns a provider for one plane. It takes ownership of client and sends no request yet. The provider
// is an io.Closer: Close waits for pending requests and closes idle connections.
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
	p.looks.do, p.creates.do = p.readMany, p.createAll
	return p, nil
}

// Name implements provider.Provider.
func (p *networks) Name() string { return "neutron" }

// ID implements provider.Provider. The ID is the name of the Neutron network.
func (p *networks) ID(uid types.UID) string { return provider.ID(p.plane, uid) }

// mark returns the description of each network of the plane.
func (p *networks) mark() string { return "made by Bowline, plane " + p.plane }

// Alias implements provider.Aliaser with the last observed Neutron ID of the network.
func (p *networks) Alias(uid types.UID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := p.known[uid]; id != "" {
		return "Neutron network " + id
	}
	return ""
}

// setKnown stores the Neutron ID of an object's network; empty means that there is none.
func (p *networks) setKnown(uid types.UID, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		delete(p.known, uid)
	} else {
		p.known[uid] = id
	}
}

// Close waits for shared requests whose callers have gone, and closes idle connections. No method may be
// called after it.
func (p *networks) Close() error {
	p.looks.wait()
	p.creates.wait()
	p.api.client.HTTPClient.CloseIdleConnections()
	return nil
}

// List implements provider.Provider. A network that was renamed and has lost its subnet is listed under its
// Neutron ID, so that it is swept.
func (p *networks) List(ctx context.Context) ([]types.UID, error) {
	all, err := p.api.networks(ctx, "description", p.mark())
	if err != nil {
		return nil, p.api.explain(err, "")
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
		return nil, p.api.explain(err, "")
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

// identify determines the objects of renamed networks by their subnets, and adds them to seen. It returns the
// remaining networks, the strays.
func (p *networks) identify(ctx context.Context, renamed []string,
	seen map[types.UID]bool) (map[types.UID]bool, error) {
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
