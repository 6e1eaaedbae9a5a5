package neutron

import (
	"fmt"
	"strings"
	"testing"

	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gopherports "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

// port creates a port on a network and returns its ID.
func (s somebody) port(t *testing.T, networkID, owner, device string) string {
	t.Helper()
	made, err := gopherports.Create(t.Context(), s.client, gopherports.CreateOpts{
		NetworkID: networkID, DeviceOwner: owner, DeviceID: device,
	}).Extract()
	must(t, err)
	return made.ID
}

func (s somebody) removePort(t *testing.T, id string) {
	t.Helper()
	must(t, gopherports.Delete(t.Context(), s.client, id).ExtractErr())
}

func TestNetworkWithPortsIsNotDeleted(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p, uid := r.provider(t), providertest.NewUID()
	was := wanted(uid, "10.1.0.0/16", "10.1.0.1")
	apply(t, p, was)
	n, _ := r.user.network(t, p.ID(uid))
	port := r.user.port(t, n.ID, "compute:nova", "server-1")
	onIt := fmt.Sprintf("it has 1 port, %s (of compute:nova server-1). The controller continues when they are removed",
		port)

	reason, message := reasonOf(t, p.Delete(t.Context(), uid))
	if want := fmt.Sprintf("network %s cannot be removed: %s", p.ID(uid), onIt); reason != provider.InUse ||
		message != want {
		t.Errorf("Delete returned %s, %s; want %s", reason, message, want)
	}
	reason, message = reasonOf(t, p.Apply(t.Context(), wanted(uid, "10.2.0.0/16", "10.2.0.1")))
	if want := fmt.Sprintf("subnet 10.1.0.0/16 of network %s cannot be replaced: %s", p.ID(uid),
		onIt); reason != provider.InUse || message != want {
		t.Errorf("Apply of another range returned %s, %s; want %s", reason, message, want)
	}
	if actual, err := p.Get(t.Context(), uid); err != nil || !actual.Matches(was) {
		t.Errorf("afterwards Get returned %+v, %v", actual, err)
	}
	apply(t, p, wanted(uid, "10.1.0.0/16", "10.1.0.9")) // changing the gateway is permitted

	r.user.removePort(t, port)
	apply(t, p, wanted(uid, "10.2.0.0/16", "10.2.0.1"))
	r.user.port(t, n.ID, "network:dhcp", "agent")
	must(t, p.Delete(t.Context(), uid)) // Neutron removes its own ports with the network
	if left, err := r.user.ports(t.Context(), n.ID); err != nil || len(left) > 0 {
		t.Errorf("the remaining ports are %v, %v", left, err)
	}
}

func TestMessageNamesFirstPorts(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	n, _ := r.user.network(t, p.ID("uid"))
	for range 7 {
		r.user.port(t, n.ID, "", "")
	}
	_, first := reasonOf(t, p.Delete(t.Context(), "uid"))
	if !strings.Contains(first, "it has 7 ports") || !strings.Contains(first, "(no owner) and 2 more") {
		t.Errorf("got the message %s", first)
	}
	if _, second := reasonOf(t, p.Delete(t.Context(), "uid")); second != first {
		t.Errorf("the messages of two calls differ: %s and %s", first, second)
	}
}

// Of two networks of an object, the one with ports is retained.
func TestDuplicateWithPortsIsRetained(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	r.user.make(t, gophernetworks.CreateOpts{Name: p.ID("uid"), Description: "made by Bowline, plane " + plane},
		"10.1.0.0/16", p.ID("uid"))
	f, err := p.(*networks).read(t.Context(), "uid")
	must(t, err)
	second := f.networks[1].ID // without ports the first one would be retained
	r.user.port(t, second, "compute:nova", "server-1")
	if actual, err := p.Get(t.Context(), "uid"); err != nil ||
		!strings.Contains(actual.Fault, "there are 2 networks for it") {
		t.Errorf("Get returned %+v, %v", actual, err)
	}
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	if n, _ := r.user.network(t, p.ID("uid")); n.ID != second {
		t.Errorf("network %s was retained, want %s", n.ID, second)
	}
}
