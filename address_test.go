//lint:file-ignore SA1019 Kubernetes has endpoints for its own service still

package bowline

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/internal/store/storetest"
)

func TestReachableAddressOfSocket(t *testing.T) {
	t.Parallel()
	outgoing := func() netip.Addr { return netip.MustParseAddr("10.1.0.1") }
	none := func() netip.Addr { return netip.Addr{} }
	for name, c := range map[string]struct {
		socket   string
		outgoing func() netip.Addr
		want     string
	}{
		"an address":                     {"10.2.0.1", outgoing, "10.2.0.1"},
		"an address of IPv6":             {"2001:db8::1", outgoing, "2001:db8::1"},
		"an address of IPv4 in IPv6":     {"::ffff:10.2.0.1", outgoing, "10.2.0.1"},
		"the loopback":                   {"127.0.0.1", outgoing, "invalid IP"},
		"the loopback of IPv6":           {"::1", outgoing, "invalid IP"},
		"a link":                         {"fe80::1%eth0", outgoing, "invalid IP"},
		"all addresses":                  {"0.0.0.0", outgoing, "10.1.0.1"},
		"all addresses of both":          {"::", outgoing, "10.1.0.1"},
		"all of a machine on no network": {"::", none, "invalid IP"},
	} {
		if got := publicAddress(netip.MustParseAddr(c.socket), c.outgoing).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestOutgoingAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		others []string
		want   string
	}{
		{[]string{"127.0.0.1:9"}, "127.0.0.1"},
		{[]string{"no address", "127.0.0.1:9"}, "127.0.0.1"},
		{[]string{"no address"}, "invalid IP"},
	} {
		if got := sourceAddress(c.others...).String(); got != c.want {
			t.Errorf("to %q: %s, want %s", c.others, got, c.want)
		}
	}
}

// TestAPIEndpointsServeTheAPI checks that the endpoints of the kubernetes Service serve the API, and exist
// only while the plane listens on a reachable address.
func TestAPIEndpointsServeTheAPI(t *testing.T) {
	t.Parallel()
	if !ownAddress().IsValid() {
		t.Skip("this machine is on no network: nobody reaches its planes")
	}
	journal := storetest.NewJournal()
	plane := startOn(t, journal, "0.0.0.0:0")
	to := leadsTo(t, plane)
	if len(to) != 1 {
		t.Fatalf("endpoints %v, want one", to)
	}
	config, err := plane.SocketConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Host = "https://" + to[0]
	services := kubernetes.NewForConfigOrDie(config).CoreV1().Services("default")
	if _, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil {
		t.Errorf("where the endpoints lead to: %v", err)
	}
	for _, listen := range []string{"127.0.0.1:0", ""} {
		if err := plane.Close(); err != nil {
			t.Fatal(err)
		}
		plane = startOn(t, journal, listen)
		if to := leadsTo(t, plane); len(to) > 0 {
			t.Errorf("on %q: endpoints %v", listen, to)
		}
	}
}

func startOn(t *testing.T, journal *storetest.Journal, listen string) *Plane {
	t.Helper()
	plane, err := Start(t.Context(), Options{Controllers: []string{NoControllers}, Listen: listen,
		Storage: journal.Open()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Close() })
	return plane
}

// leadsTo returns the addresses in the EndpointSlice of the kubernetes Service, and checks that its Endpoints
// agree.
func leadsTo(t *testing.T, plane *Plane) (all []string) {
	t.Helper()
	clients := kubernetes.NewForConfigOrDie(plane.RESTConfig())
	slice, err := clients.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slice.Endpoints {
		all = append(all, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port))))
	}
	endpoints, err := clients.CoreV1().Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var same []string
	for _, s := range endpoints.Subsets {
		same = append(same, net.JoinHostPort(s.Addresses[0].IP, strconv.Itoa(int(s.Ports[0].Port))))
	}
	if !slices.Equal(all, same) {
		t.Errorf("the slice leads to %v, the endpoints to %v", all, same)
	}
	return all
}
