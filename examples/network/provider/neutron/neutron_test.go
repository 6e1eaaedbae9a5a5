package neutron

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

// addressVariable passes the URL of Neutron to a process that is to be killed.
const addressVariable = "BOWLINE_NEUTRON"

const project = "suite"

func TestMain(m *testing.M) {
	providertest.Victim(func(plane string) (provider.Provider, error) {
		return New(plane, neutrontest.NewClient(os.Getenv(addressVariable), project, neutrontest.Member, nil),
			Options{})
	})
	os.Exit(neutrontest.Main(m))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// somebody is another client of the same Neutron.
type somebody struct{ *api }

func by(client *gophercloud.ServiceClient) somebody {
	return somebody{&api{client: client, timeout: time.Minute}}
}

// network returns the only network of a name and its first subnet.
func (s somebody) network(t *testing.T, name string) (network, subnet) {
	t.Helper()
	found, err := s.networks(t.Context(), "name", name)
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("got %d networks %s, want one", len(found), name)
	}
	subnets, err := s.subnets(t.Context(), "network_id", found[0].ID)
	must(t, err)
	if len(subnets) == 0 {
		return found[0], subnet{}
	}
	return found[0], subnets[0]
}

func (s somebody) update(t *testing.T, name string, change gophernetworks.UpdateOpts) {
	t.Helper()
	n, _ := s.network(t, name)
	must(t, s.updateNetwork(t.Context(), n, change))
}

// make creates a network, and a subnet if cidr is not empty. It returns the network's Neutron ID.
func (s somebody) make(t *testing.T, o gophernetworks.CreateOpts, cidr, mark string) string {
	t.Helper()
	made, err := s.createNetworks(t.Context(), newNetworks{o})
	must(t, err)
	if cidr != "" {
		must(t, s.createSubnet(t.Context(), gophersubnets.CreateOpts{
			NetworkID: made[0].ID, CIDR: cidr, IPVersion: gophercloud.IPv4, Description: mark,
		}))
	}
	return made[0].ID
}

func (s somebody) remove(t *testing.T, name string) {
	t.Helper()
	n, _ := s.network(t, name)
	must(t, s.deleteNetwork(t.Context(), n))
}

// harm returns changes that another client may make to a network.
func (s somebody) harm() map[string]func(*testing.T, string) {
	text, down, elsewhere := "somebody's", false, "10.9.9.9"
	return map[string]func(*testing.T, string){
		"renamed":   func(t *testing.T, id string) { s.update(t, id, gophernetworks.UpdateOpts{Name: &text}) },
		"described": func(t *testing.T, id string) { s.update(t, id, gophernetworks.UpdateOpts{Description: &text}) },
		"down":      func(t *testing.T, id string) { s.update(t, id, gophernetworks.UpdateOpts{AdminStateUp: &down}) },
		"other gateway": func(t *testing.T, id string) {
			_, sub := s.network(t, id)
			must(t, s.updateSubnet(t.Context(), sub, gophersubnets.UpdateOpts{GatewayIP: &elsewhere}))
		},
		"no subnet": func(t *testing.T, id string) {
			_, sub := s.network(t, id)
			must(t, s.deleteSubnet(t.Context(), sub))
		},
		"subnet described": func(t *testing.T, id string) {
			_, sub := s.network(t, id)
			must(t, s.updateSubnet(t.Context(), sub, gophersubnets.UpdateOpts{Description: &text}))
		},
		"other range": func(t *testing.T, id string) {
			n, sub := s.network(t, id)
			must(t, s.deleteSubnet(t.Context(), sub))
			must(t, s.createSubnet(t.Context(),
				gophersubnets.CreateOpts{NetworkID: n.ID, CIDR: "10.8.0.0/24", IPVersion: 4, Description: id}))
		},
		"two subnets": func(t *testing.T, id string) {
			n, _ := s.network(t, id)
			must(t, s.createSubnet(t.Context(),
				gophersubnets.CreateOpts{NetworkID: n.ID, CIDR: "10.8.0.0/24", IPVersion: 4, Description: id}))
		},
		"two networks": func(t *testing.T, id string) {
			n, _ := s.network(t, id)
			s.make(t, gophernetworks.CreateOpts{Name: id, Description: n.Description}, "10.8.0.0/24", id)
		},
	}
}

// The fake answers as a real Neutron does, which TestRealNeutronContract and TestFakeContract of package neutrontest
// prove.
func TestProviderContract(t *testing.T) {
	t.Parallel()
	var fake neutrontest.Fake
	user := by(fake.Client(project))
	mark := func(id string) string { return "made by Bowline, plane " + planeOf(id) }
	providertest.Run(t, providertest.Environment{
		New: func(plane string) (provider.Provider, error) {
			return New(plane, fake.Client(project), Options{Poll: 10 * time.Millisecond})
		},
		Remove: user.remove,
		Damage: user.harm(),
		Incomplete: map[string]func(*testing.T, string){
			"no subnet": func(t *testing.T, id string) {
				user.make(t, gophernetworks.CreateOpts{Name: id, Description: mark(id)}, "", "")
			},
			"made twice": func(t *testing.T, id string) {
				user.make(t, gophernetworks.CreateOpts{Name: id, Description: mark(id)}, "10.1.0.0/16", id)
				user.make(t, gophernetworks.CreateOpts{Name: id, Description: mark(id)}, "", "")
			},
			"of another range": func(t *testing.T, id string) {
				user.make(t, gophernetworks.CreateOpts{Name: id, Description: mark(id)}, "10.1.0.0/24", id)
			},
			"renamed": func(t *testing.T, id string) {
				user.make(t, gophernetworks.CreateOpts{Name: "somebody's", Description: mark(id)}, "10.1.0.0/24", id)
			},
		},
	})
}

// planeOf returns the plane ID in an ID.
func planeOf(id string) string {
	plane, _, _ := strings.Cut(strings.TrimPrefix(id, "bowline."), ".")
	return plane
}

func TestKilledProcessCreatesNetworkOnce(t *testing.T) {
	t.Parallel()
	server := neutrontest.ForTest(t)
	providertest.Killed(t, 6, addressVariable+"="+server.URL, func(plane string) (provider.Provider, error) {
		return New(plane, server.Client(project), Options{})
	})
}
