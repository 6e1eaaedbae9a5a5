package bridge

import (
	"net"
	"os"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m, New) }

// needsRoot skips the test if the provider is not permitted.
func needsRoot(t *testing.T) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skipf("the bridge provider is not permitted here, run as root to test it: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inside returns a function that changes the bridge in a network's namespace behind the provider's back.
func inside(change func(h *netlink.Handle, br netlink.Link) error) func(*testing.T, string) {
	return func(t *testing.T, id string) {
		t.Helper()
		ns, err := openNamespace(id)
		must(t, err)
		defer ns.Close()
		h, err := openNetlink(ns)
		must(t, err)
		defer h.Close()
		br, err := h.LinkByName(linkName)
		must(t, err)
		must(t, change(h, br))
	}
}

func address(t *testing.T, s string) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(s)
	must(t, err)
	return a
}

// emptyNamespace creates a named namespace without a bridge.
func emptyNamespace(t *testing.T, id string) {
	t.Helper()
	unlock, err := lockFolder()
	must(t, err)
	defer unlock()
	ns, err := newNamespace()
	must(t, err)
	defer ns.Close()
	must(t, nameNamespace(ns, id))
}

func placeholder(t *testing.T, id string) {
	t.Helper()
	unlock, err := lockFolder()
	must(t, err)
	defer unlock()
	must(t, os.WriteFile(path(id), nil, 0o444))
}

func TestBridges(t *testing.T) {
	needsRoot(t)
	t.Parallel()
	bare := netlink.NewLinkAttrs()
	bare.Name = linkName
	providertest.Run(t, providertest.Environment{
		New: New,
		Remove: func(t *testing.T, id string) { // as `ip netns del` does
			unlock, err := lockFolder()
			must(t, err)
			defer unlock()
			must(t, unnameNamespace(id))
		},
		Damage: map[string]func(*testing.T, string){
			"bridge deleted": inside(func(h *netlink.Handle, br netlink.Link) error { return h.LinkDel(br) }),
			"bridge down":    inside(func(h *netlink.Handle, br netlink.Link) error { return h.LinkSetDown(br) }),
			"mark changed": inside(func(h *netlink.Handle, br netlink.Link) error {
				return h.LinkSetAlias(br, "mine")
			}),
			"address gone": inside(func(h *netlink.Handle, br netlink.Link) error {
				return h.AddrDel(br, address(t, "10.1.0.1/16"))
			}),
			"address added": inside(func(h *netlink.Handle, br netlink.Link) error {
				return h.AddrAdd(br, address(t, "10.1.0.7/16"))
			}),
			"bridge replaced": inside(func(h *netlink.Handle, br netlink.Link) error {
				if err := h.LinkDel(br); err != nil {
					return err
				}
				return h.LinkAdd(&netlink.Veth{LinkAttrs: bare, PeerName: "peer"})
			}),
		},
		Incomplete: map[string]func(*testing.T, string){
			"name without namespace":   placeholder,
			"namespace without bridge": emptyNamespace,
			"bridge without the rest": func(t *testing.T, id string) {
				emptyNamespace(t, id)
				ns, err := openNamespace(id)
				must(t, err)
				defer ns.Close()
				h, err := openNetlink(ns)
				must(t, err)
				defer h.Close()
				must(t, h.LinkAdd(&netlink.Bridge{LinkAttrs: bare}))
			},
		},
	})
}

func TestKilledProcessCreatesBridgeOnce(t *testing.T) {
	needsRoot(t)
	t.Parallel()
	providertest.Killed(t, 10, "", New)
}

// hostNetwork returns the links and addresses of the host.
func hostNetwork(t *testing.T) []string {
	t.Helper()
	var found []string
	links, err := net.Interfaces()
	must(t, err)
	for _, link := range links {
		addrs, err := link.Addrs()
		must(t, err)
		for _, a := range addrs {
			found = append(found, link.Name+" "+a.String())
		}
		found = append(found, link.Name)
	}
	slices.Sort(found)
	return found
}

func TestHostNetworkIsUnchanged(t *testing.T) {
	needsRoot(t)
	t.Parallel()
	before := hostNetwork(t)
	p, err := New(providertest.Plane())
	must(t, err)
	uid := providertest.NewUID()
	must(t, p.Apply(t.Context(), providertest.Wanted(uid, "192.168.0.0/16", "192.168.0.1")))
	if during := hostNetwork(t); !slices.Equal(before, during) {
		t.Errorf("the host's links changed from %q to %q", before, during)
	}
	must(t, p.Delete(t.Context(), uid))
	if after := hostNetwork(t); !slices.Equal(before, after) {
		t.Errorf("the host's links changed from %q to %q", before, after)
	}
}
