package neutron

import (
	"fmt"
	"strings"
	"testing"

	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gopherports "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

// port makes a port on a network.
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

// portsAreLeftAlone is for a Neutron that is real, or is not.
func portsAreLeftAlone(t *testing.T, p provider.Provider, s somebody, uid types.UID) {
	was := wanted(uid, "10.1.0.0/16", "10.1.0.1")
	apply(t, p, was)
	n, _ := s.network(t, p.ID(uid))
	port := s.port(t, n.ID, "compute:nova", "server-1")
	onIt := fmt.Sprintf("1 port is on it, %s (of compute:nova server-1). It goes on when they are gone", port)

	reason, message := reasonOf(t, p.Delete(t.Context(), uid))
	if want := fmt.Sprintf("network %s cannot be removed: %s", p.ID(uid), onIt); reason != provider.InUse || message != want {
		t.Errorf("it is deleted: %s, %s; want %s", reason, message, want)
	}
	reason, message = reasonOf(t, p.Apply(t.Context(), wanted(uid, "10.2.0.0/16", "10.2.0.1")))
	if want := fmt.Sprintf("subnet 10.1.0.0/16 of network %s cannot be replaced: %s", p.ID(uid), onIt); reason != provider.InUse || message != want {
		t.Errorf("its range is changed: %s, %s; want %s", reason, message, want)
	}
	if actual, err := p.Get(t.Context(), uid); err != nil || !actual.Matches(was) {
		t.Errorf("after that there is %+v, %v", actual, err)
	}
	apply(t, p, wanted(uid, "10.1.0.0/16", "10.1.0.9")) // the gateway may change

	s.removePort(t, port)
	apply(t, p, wanted(uid, "10.2.0.0/16", "10.2.0.1"))
}

func TestNetworkWithPortsStaysUntilTheyAreGone(t *testing.T) {
	t.Parallel()
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		server := neutrontest.ForTest(t)
		p, err := New(providertest.Plane(), server.Client(project), Options{})
		must(t, err)
		user, uid := by(server.Client(project)), providertest.NewUID()
		portsAreLeftAlone(t, p, user, uid)
		n, _ := user.network(t, p.ID(uid))
		user.port(t, n.ID, "network:dhcp", "agent")
		must(t, p.Delete(t.Context(), uid)) // Neutron's own ports go with it
		if left, err := user.ports(t.Context(), n.ID); err != nil || len(left) > 0 {
			t.Errorf("ports are left: %v, %v", left, err)
		}
	})
	t.Run("stand-in", func(t *testing.T) {
		t.Parallel()
		r := newRecorded()
		portsAreLeftAlone(t, r.provider(t), r.user, providertest.NewUID())
	})
}

func TestManyPortsAreCountedAndTheFirstNamed(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	n, _ := r.user.network(t, p.ID("uid"))
	for range 7 {
		r.user.port(t, n.ID, "", "")
	}
	_, first := reasonOf(t, p.Delete(t.Context(), "uid"))
	if !strings.Contains(first, "7 ports are on it") || !strings.Contains(first, "(of nobody) and 2 more") {
		t.Errorf("it says %s", first)
	}
	if _, again := reasonOf(t, p.Delete(t.Context(), "uid")); again != first {
		t.Errorf("it says %s, and then %s", first, again)
	}
}

// Of a network that was made twice the one stays that is used.
func TestOfTwoNetworksTheOneWithPortsStays(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	r.user.make(t, gophernetworks.CreateOpts{Name: p.ID("uid"), Description: "made by Bowline, plane " + plane}, "10.1.0.0/16", p.ID("uid"))
	f, err := p.(*networks).look(t.Context(), "uid")
	must(t, err)
	second := f.networks[1].ID // the other one stays where none has ports
	r.user.port(t, second, "compute:nova", "server-1")
	if actual, err := p.Get(t.Context(), "uid"); err != nil || !strings.Contains(actual.Fault, "there are 2 networks for it") {
		t.Errorf("found %+v, %v", actual, err)
	}
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	if n, _ := r.user.network(t, p.ID("uid")); n.ID != second {
		t.Errorf("network %s stayed, want %s", n.ID, second)
	}
}
