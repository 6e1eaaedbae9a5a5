package neutron

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

const markOfPlane = "made by Bowline, plane " + plane

// A subnet's description alone does not make its network ours: another user may have copied it.
func TestCopiedDescriptionIsNotOwnership(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	r.user.make(t, gophernetworks.CreateOpts{Name: "somebody's", Description: "theirs"}, "10.1.0.0/16", p.ID("uid"))
	if actual, err := p.Get(t.Context(), "uid"); err == nil {
		t.Errorf("Get returned %+v", actual)
	}
	must(t, p.Delete(t.Context(), "uid"))
	r.user.network(t, "somebody's")
}

// A stray that has been renamed or has lost its mark by the time of the sweep is not removed.
func TestChangedStrayIsNotDeleted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p provider.Provider) gophernetworks.UpdateOpts{
		"named": func(p provider.Provider) gophernetworks.UpdateOpts {
			id := p.ID("uid")
			return gophernetworks.UpdateOpts{Name: &id}
		},
		"described": func(provider.Provider) gophernetworks.UpdateOpts {
			text := "theirs"
			return gophernetworks.UpdateOpts{Description: &text}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded()
			p := r.provider(t)
			id := r.user.make(t, gophernetworks.CreateOpts{Name: "stray", Description: markOfPlane}, "", "")
			uids, err := p.List(t.Context())
			if err != nil || !slices.Equal(uids, []types.UID{types.UID(id)}) {
				t.Fatalf("List returned %q, %v", uids, err)
			}
			r.user.update(t, "stray", change(p))
			must(t, p.Delete(t.Context(), types.UID(id)))
			if left, err := r.user.networks(t.Context(), "id", id); err != nil || len(left) != 1 {
				t.Errorf("the remaining networks are %v, %v", left, err)
			}
		})
	}
}

// If a network is renamed while it is watched, the watch still reports it under the UID of its former name.
func TestWatchReportsRenamedNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorded()
		p := r.provider(t)
		apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
		ctx, cancel := context.WithCancel(t.Context())
		var notified []types.UID
		ended := make(chan error)
		go func() { ended <- p.Watch(ctx, func(uid types.UID) { notified = append(notified, uid) }) }()
		synctest.Wait()
		text := "somebody's"
		r.user.update(t, p.ID("uid"), gophernetworks.UpdateOpts{Name: &text})
		time.Sleep(DefaultPoll + time.Second)
		cancel()
		must(t, <-ended)
		if !slices.Equal(notified, []types.UID{"", "uid"}) {
			t.Errorf("got notifications %q", notified)
		}
	})
}

// If the gateway changes, unmodified pools again cover all addresses but the gateway's; pools that another
// client set remain, apart from the gateway's address.
func TestPoolsExcludeTheGateway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pools, want []gophersubnets.AllocationPool
	}{
		"untouched": {nil,
			[]gophersubnets.AllocationPool{{Start: "10.1.0.1", End: "10.1.0.8"},
				{Start: "10.1.0.10", End: "10.1.0.254"}}},
		"somebody's": {[]gophersubnets.AllocationPool{{Start: "10.1.0.5", End: "10.1.0.20"}},
			[]gophersubnets.AllocationPool{{Start: "10.1.0.5", End: "10.1.0.8"},
				{Start: "10.1.0.10", End: "10.1.0.20"}}},
		"elsewhere": {[]gophersubnets.AllocationPool{{Start: "10.1.0.100", End: "10.1.0.200"}},
			[]gophersubnets.AllocationPool{{Start: "10.1.0.100", End: "10.1.0.200"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded()
			p := r.provider(t)
			apply(t, p, wanted("uid", "10.1.0.0/24", "10.1.0.1"))
			if c.pools != nil {
				_, s := r.user.network(t, p.ID("uid"))
				must(t, r.user.updateSubnet(t.Context(), s, gophersubnets.UpdateOpts{AllocationPools: c.pools}))
			}
			apply(t, p, wanted("uid", "10.1.0.0/24", "10.1.0.9"))
			if _, s := r.user.network(t, p.ID("uid")); !slices.Equal(s.Pools, c.want) {
				t.Errorf("got pools %v, want %v", s.Pools, c.want)
			}
		})
	}
}

// Names of objects in Kubernetes may be longer than names in Neutron.
func TestLongNamesAreTruncated(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	want := wanted("uid", "10.1.0.0/16", "10.1.0.1")
	want.Owner = strings.Repeat("n", 63) + "/" + strings.Repeat("o", 253)
	apply(t, p, want)
}

// Another client removes a resource between the read and the write.
func TestConcurrentRemovalIsHandled(t *testing.T) {
	t.Parallel()
	for request, act := range map[string]func(t *testing.T, p provider.Provider){
		"DELETE": func(t *testing.T, p provider.Provider) { must(t, p.Delete(t.Context(), "uid")) },
		"POST":   func(t *testing.T, p provider.Provider) { apply(t, p, wanted("uid", "10.2.0.0/16", "10.2.0.1")) },
		"PUT":    func(t *testing.T, p provider.Provider) { apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.9")) },
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			r := newRecorded()
			p := r.provider(t)
			apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
			remove := sync.OnceFunc(func() { r.user.remove(t, p.ID("uid")) })
			r.disturb(func(q *http.Request) (*http.Response, error) {
				if q.Method == request {
					remove()
				}
				return nil, nil
			})
			act(t, p)
		})
	}
}

// Neutron's own ports do not block the removal of a network and are not counted.
func TestNeutronPortsDoNotBlock(t *testing.T) {
	t.Parallel()
	all := []port{{ID: "1", Owner: "network:dhcp"}, {ID: "2", Owner: "compute:nova"},
		{ID: "3", Owner: "network:distributed"}, {ID: "4"}}
	if got := names(blockingPorts(all)); got != "it has 2 ports, 4 (no owner), 2 (of compute:nova)" {
		t.Errorf("got the message %q", got)
	}
}

// An address that a port uses cannot become the gateway's.
func TestGatewayUsedByPort(t *testing.T) {
	t.Parallel()
	p := newProvider(t, func(q *http.Request) (*http.Response, error) {
		const id = "bowline.plane.uid"
		switch {
		case q.Method == http.MethodPut:
			return response(q, http.StatusConflict,
				asNeutron("GatewayIpInUse", "Current gateway ip 10.1.0.1 already in use by port p.")), nil
		case strings.HasSuffix(q.URL.Path, "/ports"):
			return response(q, http.StatusOK,
					`{"ports":[{"id":"p","network_id":"n","device_owner":"network:router_interface","device_id":"r"}]}`),
				nil
		case strings.HasSuffix(q.URL.Path, "/subnets"):
			return response(q, http.StatusOK,
				`{"subnets":[{"id":"s","network_id":"n","description":"`+id+
					`","cidr":"10.1.0.0/16","gateway_ip":"10.1.0.1"}]}`), nil
		}
		return response(q, http.StatusOK,
			`{"networks":[{"id":"n","name":"`+id+`","description":"`+markOfPlane+
				`","admin_state_up":true,"subnets":["s"]}]}`), nil
	})
	reason, message := reasonOf(t, p.Apply(t.Context(), wanted("uid", "10.1.0.0/16", "10.1.0.9")))
	if want := "the gateway of network bowline.plane.uid cannot be changed to 10.1.0.9: it has 1 port, p (of " +
		"network:router_interface r)"; reason != provider.InUse ||
		!strings.HasPrefix(message, want) {
		t.Errorf("got %s: %s; want %s", reason, message, want)
	}
}
