package neutron

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	gophernetworks "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	gophersubnets "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
	"github.com/bowline-dev/bowline/examples/network/provider/providertest"
)

const plane = "plane"

// recorded is a transport to a Neutron in memory that records requests and may inject faults.
type recorded struct {
	neutrontest.Fake
	user somebody

	mu       sync.Mutex
	requests []string
	// before is called with each request before Neutron is. Neutron answers if it returns nil and no error.
	before func(*http.Request) (*http.Response, error)
}

func newRecorded() *recorded {
	r := &recorded{}
	r.user = by(r.Fake.Client(project))
	return r
}

// RoundTrip records a request, such as "PUT networks", or "PUT networks blindly" if it is a write without a
// precondition.
func (r *recorded) RoundTrip(q *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.TrimPrefix(path.Clean(q.URL.Path), "/v2.0/"), "/")
	line := q.Method + " " + parts[0]
	if (q.Method == http.MethodPut || q.Method == http.MethodDelete) &&
		!strings.HasPrefix(q.Header.Get("If-Match"), "revision_number=") {
		line += " blindly"
	}
	r.mu.Lock()
	r.requests = append(r.requests, line)
	before := r.before
	r.mu.Unlock()
	if before != nil {
		if answer, err := before(q); answer != nil || err != nil {
			return answer, err
		}
	}
	return neutrontest.InProcess(&r.Fake).RoundTrip(q)
}

// disturb has f called before each request.
func (r *recorded) disturb(f func(*http.Request) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = f
}

// took returns the requests since its last call.
func (r *recorded) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := r.requests
	r.requests = nil
	return took
}

func (r *recorded) provider(t *testing.T) provider.Provider {
	t.Helper()
	client := neutrontest.NewClient("http://neutron.fake", project, neutrontest.Member, r)
	p, err := New(plane, client, Options{Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, p.(io.Closer).Close()) })
	return p
}

func wanted(uid types.UID, cidr, gateway string) provider.Network {
	return providertest.Wanted(uid, cidr, gateway)
}

func apply(t *testing.T, p provider.Provider, want provider.Network) {
	t.Helper()
	must(t, p.Apply(t.Context(), want))
	if actual, err := p.Get(t.Context(), want.UID); err != nil || !actual.Matches(want) {
		t.Errorf("Get returned %+v, %v; want %+v", actual, err, want)
	}
}

var look = []string{"GET networks", "GET subnets"}

// The number of requests of each change, none of which is unconditional.
func TestWritesAreMinimalAndConditional(t *testing.T) {
	t.Parallel()
	text, down := "somebody's", false
	for name, c := range map[string]struct {
		change func(t *testing.T, s somebody, id string)
		want   provider.Network
		writes []string
	}{
		"nothing": {func(*testing.T, somebody, string) {}, wanted("uid", "10.1.0.0/16", "10.1.0.1"), nil},
		"gateway": {func(*testing.T, somebody, string) {}, wanted("uid", "10.1.0.0/16", "10.1.0.9"),
			[]string{"PUT subnets"}},
		"range": {func(*testing.T, somebody, string) {}, wanted("uid", "10.1.0.0/24", "10.1.0.1"),
			[]string{"DELETE subnets", "POST subnets"}},
		"renamed and down": {func(t *testing.T, s somebody, id string) {
			s.update(t, id, gophernetworks.UpdateOpts{Name: &text, AdminStateUp: &down})
		}, wanted("uid", "10.1.0.0/16", "10.1.0.1"), []string{"GET networks", "PUT networks"}},
		"subnet removed": {func(t *testing.T, s somebody, id string) {
			_, sub := s.network(t, id)
			must(t, s.deleteSubnet(t.Context(), sub))
		}, wanted("uid", "10.1.0.0/16", "10.1.0.1"), []string{"POST subnets"}},
		"network removed": {func(t *testing.T, s somebody, id string) { s.remove(t, id) },
			wanted("uid", "10.1.0.0/16", "10.1.0.1"), []string{"POST networks", "POST subnets"}},
		"made twice": {func(t *testing.T, s somebody, id string) {
			s.make(t, gophernetworks.CreateOpts{Name: id, Description: "made by Bowline, plane " + plane},
				"10.1.0.0/16", id)
		}, wanted("uid", "10.1.0.0/16", "10.1.0.1"), []string{"GET ports", "DELETE networks"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded()
			p := r.provider(t)
			apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
			c.change(t, r.user, p.ID("uid"))
			r.took()
			must(t, p.Apply(t.Context(), c.want))
			if took := r.took(); !slices.Equal(took, slices.Concat(look, c.writes)) {
				t.Errorf("the requests were %q, want %q and %q", took, look, c.writes)
			}
			apply(t, p, c.want)
			must(t, p.Delete(t.Context(), "uid"))
			if took := r.took(); !slices.Equal(took[len(took)-3:], slices.Concat(look, []string{"DELETE networks"})) {
				t.Errorf("the requests of the removal were %q", took)
			}
		})
	}
}

// Another client changes a resource between the read and the write.
func TestConflictingWriteIsRetried(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"update": http.MethodPut, "delete": http.MethodDelete} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded()
			p := r.provider(t)
			apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
			times := 0 // how often the other client writes first
			r.disturb(func(q *http.Request) (*http.Response, error) {
				if q.Method == method && times > 0 {
					times--
					n, sub := r.user.network(t, p.ID("uid"))
					text := fmt.Sprint("somebody was here ", times)
					must(t, r.user.updateSubnet(t.Context(), sub, gophersubnets.UpdateOpts{Name: &text}))
					must(t, r.user.updateNetwork(t.Context(), network{ID: n.ID, Revision: n.Revision + 1},
						gophernetworks.UpdateOpts{}))
				}
				return nil, nil
			})
			act := func() error { return p.Apply(t.Context(), wanted("uid", "10.1.0.0/16", "10.1.0.9")) }
			if method == http.MethodDelete {
				act = func() error { return p.Delete(t.Context(), "uid") }
			}
			times = attempts + 1
			if reason, message := reasonOf(t, act()); reason != provider.Failed ||
				!strings.Contains(message, "change network bowline.plane.uid repeatedly") {
				t.Errorf("permanent conflict: got %s, %s", reason, message)
			}
			times = attempts - 1
			must(t, act())
			if slices.ContainsFunc(r.took(), func(line string) bool { return strings.HasSuffix(line, "blindly") }) {
				t.Error("something was written without a precondition")
			}
		})
	}
}

func TestForeignSubnetsArePreserved(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	n, _ := r.user.network(t, p.ID("uid"))
	must(t, r.user.createSubnet(t.Context(),
		gophersubnets.CreateOpts{NetworkID: n.ID, CIDR: "10.9.0.0/16", IPVersion: gophercloud.IPv4}))
	apply(t, p, wanted("uid", "10.2.0.0/16", "10.2.0.1"))
	all, err := r.user.subnets(t.Context(), "network_id", n.ID)
	if err != nil || len(all) != 2 {
		t.Errorf("the subnets are %v, %v; want the foreign one and the provider's", all, err)
	}

	reason, message := reasonOf(t, p.Apply(t.Context(), wanted("uid", "10.0.0.0/8", "10.0.0.1")))
	if reason != provider.Refused ||
		!strings.Contains(message,
			"has a subnet 10.9.0.0/16, created by another client, which overlaps with 10.0.0.0/8") {
		t.Errorf("with an overlapping foreign subnet: got %s, %s", reason, message)
	}
	if actual, err := p.Get(t.Context(), "uid"); err != nil ||
		!actual.Matches(wanted("uid", "10.2.0.0/16", "10.2.0.1")) {
		t.Errorf("afterwards Get returned %+v, %v", actual, err)
	}
}

// Separate networks may have the same addresses.
func TestNetworksMayOverlap(t *testing.T) {
	t.Parallel()
	p := newRecorded().provider(t)
	apply(t, p, wanted("one", "10.1.0.0/16", "10.1.0.1"))
	apply(t, p, wanted("two", "10.1.0.0/16", "10.1.0.1"))
}

// A range that Neutron does not support is refused before the existing subnet is removed.
func TestUnsupportedRangesAreRefusedLocally(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	was := wanted("uid", "10.1.0.0/16", "10.1.0.1")
	apply(t, p, was)
	r.took()
	for cidr, gateway := range map[string]string{
		"0.0.0.0/0": "1.1.1.1", "::/0": "::1", "10.0.0.0/31": "10.0.0.0", "10.0.0.7/32": "10.0.0.7",
		"224.0.0.0/8": "224.0.0.1", "ff00::/64": "ff00::1", "127.0.0.0/8": "127.0.0.1", "::1/128": "::1",
		"0.0.0.0/8": "0.0.0.1",
	} {
		reason, message := reasonOf(t, p.Apply(t.Context(), wanted("uid", cidr, gateway)))
		if reason != provider.Refused || !strings.Contains(message, "Neutron supports no subnet "+cidr) ||
			!strings.Contains(message, "declare another spec.cidr") {
			t.Errorf("%s: %s, %s", cidr, reason, message)
		}
	}
	if took := r.took(); len(took) > 0 {
		t.Errorf("got the requests %q, want none", took)
	}
	for cidr, gateway := range map[string]string{"10.0.0.0/30": "10.0.0.2", "fd00::/126": "fd00::2",
		"fd00::/127": "fd00::1", "fd00::7/128": "fd00::7"} {
		apply(t, p, wanted("uid", cidr, gateway))
	}
}

// A network that has lost both its name and its subnet is still found by its description, and swept.
func TestUnidentifiableNetworkIsListed(t *testing.T) {
	t.Parallel()
	r := newRecorded()
	p := r.provider(t)
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	text := "somebody's"
	_, sub := r.user.network(t, p.ID("uid"))
	r.user.update(t, p.ID("uid"), gophernetworks.UpdateOpts{Name: &text})
	if uids, err := p.List(t.Context()); err != nil || !slices.Equal(uids, []types.UID{"uid"}) {
		t.Errorf("a renamed network is listed as %q, %v", uids, err)
	}
	sub.Revision = 0
	must(t, r.user.deleteSubnet(t.Context(), sub))
	apply(t, p, wanted("uid", "10.1.0.0/16", "10.1.0.1"))
	uids, err := p.List(t.Context())
	if err != nil || len(uids) != 2 {
		t.Fatalf("List returned %q, %v; want the new network and the stray", uids, err)
	}
	for _, uid := range uids {
		if uid != "uid" {
			must(t, p.Delete(t.Context(), uid))
		}
	}
	all, err := r.user.networks(t.Context(), "description", "made by Bowline, plane "+plane)
	if err != nil || len(all) != 1 || all[0].Name != p.ID("uid") {
		t.Errorf("the remaining networks are %v, %v", all, err)
	}
}
