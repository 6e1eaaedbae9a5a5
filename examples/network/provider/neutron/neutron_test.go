package neutron

import (
	"maps"
	"os"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

// addressVariable tells a process that is to be killed where Neutron is.
const addressVariable = "BOWLINE_NEUTRON"

const project = "suite"

func TestMain(m *testing.M) {
	providertest.Victim(func(plane string) (provider.Provider, error) {
		return New(plane, neutrontest.NewClient(os.Getenv(addressVariable), project, neutrontest.Member, nil), Options{})
	})
	os.Exit(neutrontest.Main(m))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// somebody is who else works with the same Neutron.
type somebody struct{ *api }

func by(client *gophercloud.ServiceClient) somebody {
	return somebody{&api{client: client, timeout: time.Minute}}
}

// network finds a network by name, and its first subnet.
func (s somebody) network(t *testing.T, name string) (network, subnet) {
	t.Helper()
	found, err := s.networks(t.Context(), "name", name)
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("there are %d networks %s, want one", len(found), name)
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

// make makes a network, and a subnet if it is given a range.
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

// harm is what somebody may do to a network.
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
			must(t, s.createSubnet(t.Context(), gophersubnets.CreateOpts{NetworkID: n.ID, CIDR: "10.8.0.0/24", IPVersion: 4, Description: id}))
		},
		"two subnets": func(t *testing.T, id string) {
			n, _ := s.network(t, id)
			must(t, s.createSubnet(t.Context(), gophersubnets.CreateOpts{NetworkID: n.ID, CIDR: "10.8.0.0/24", IPVersion: 4, Description: id}))
		},
		"two networks": func(t *testing.T, id string) {
			n, _ := s.network(t, id)
			s.make(t, gophernetworks.CreateOpts{Name: id, Description: n.Description}, "10.8.0.0/24", id)
		},
	}
}

// worldOf is what a Neutron is to the suite.
func worldOf(client func() *gophercloud.ServiceClient, poll time.Duration) providertest.World {
	user := by(client())
	mark := func(id string) string { return "made by Bowline, plane " + planeOf(id) }
	return providertest.World{
		New: func(plane string) (provider.Provider, error) {
			return New(plane, client(), Options{Poll: poll})
		},
		Remove:   user.remove,
		Patience: 2 * time.Minute, // a Neutron that many ask answers none of them soon
		Harm:     user.harm(),
		Halves: map[string]func(*testing.T, string){
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
	}
}

// planeOf is the plane that an ID names.
func planeOf(id string) string {
	var plane string
	for _, c := range id[len("bowline."):] {
		if c == '.' {
			break
		}
		plane += string(c)
	}
	return plane
}

// The real one takes a fifth of a second for each network, so that it gets no more of them than shows that it does what the stand-in
// does.
func TestSuiteOnARealNeutron(t *testing.T) {
	t.Parallel()
	server := neutrontest.ForTest(t)
	w := worldOf(func() *gophercloud.ServiceClient { return server.Client(project) }, 300*time.Millisecond)
	maps.DeleteFunc(w.Harm, func(name string, _ func(*testing.T, string)) bool { return name != "renamed" && name != "other range" })
	maps.DeleteFunc(w.Halves, func(name string, _ func(*testing.T, string)) bool { return name != "made twice" })
	providertest.Run(t, w)
}

func TestSuiteOnTheStandIn(t *testing.T) {
	t.Parallel()
	var fake neutrontest.Fake
	providertest.Run(t, worldOf(func() *gophercloud.ServiceClient { return fake.Client(project) }, 10*time.Millisecond))
}

func TestKilledAnywhereANetworkExistsOnce(t *testing.T) {
	t.Parallel()
	server := neutrontest.ForTest(t)
	providertest.Killed(t, 6, addressVariable+"="+server.URL, func(plane string) (provider.Provider, error) {
		return New(plane, server.Client(project), Options{})
	})
}
