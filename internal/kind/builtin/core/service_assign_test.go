package core

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
)

// plane holds services and their claims, like a server.
type plane struct {
	t      *testing.T
	kind   kind.Kind
	claims map[kind.Claim]string
	ranges []netip.Prefix
}

func newPlane(t *testing.T) *plane {
	return &plane{t, kindsByResource()["services"], map[kind.Claim]string{},
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}
}

// put creates or updates a service with its claims, or returns the errors.
func (p *plane) put(name, body string, old *corev1.Service) (*corev1.Service, error) {
	s := read(p.t, p.kind, "", body).(*corev1.Service)
	s.Name, s.UID = name, types.UID("uid of "+name)
	claimer := p.kind
	taken := func(c kind.Claim) bool { return p.claims[c] != "" }
	var was kind.Object
	if old != nil {
		was = old
	}
	p.kind.Prepare(s, was, "")
	errs, err := claimer.Assign(s, was, kind.Values{Taken: taken, Ranges: func() []netip.Prefix { return p.ranges }})
	if err != nil {
		return nil, err
	}
	errs = append(errs, p.kind.Validate(p.t.Context(), s, was, "")...)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if old != nil {
		for _, c := range claimer.Claims(old) {
			delete(p.claims, c)
		}
	}
	for _, c := range claimer.Claims(s) {
		if owner := p.claims[c]; owner != "" {
			p.t.Fatalf("%s has %v, which is %s's", name, c, owner)
		}
		p.claims[c] = name
	}
	return s, nil
}

func (p *plane) mustPut(name, body string, old *corev1.Service) *corev1.Service {
	p.t.Helper()
	s, err := p.put(name, body, old)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Each range is used up exactly. The static part of a range is used only when the rest of all ranges is used up.
func TestAddressesAreUnique(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ranges        []string
		count, static int // of all ranges
	}{
		"default":         {[]string{"10.0.0.0/24"}, 254, 16},
		"small":           {[]string{"10.0.0.0/29"}, 6, 0},
		"sixteen":         {[]string{"10.0.0.16/28"}, 14, 0},
		"two":             {[]string{"10.0.0.32/27", "10.0.1.0/26"}, 30 + 62, 32},
		"overlapping":     {[]string{"10.0.0.0/27", "10.0.0.0/26"}, 62, 16},
		"too small":       {[]string{"10.0.0.0/31", "10.0.0.7/32", "fd00::/108"}, 0, 0},
		"no mask applied": {[]string{"10.0.0.77/29"}, 6, 0},
		"none":            {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.ranges = nil
			for _, r := range test.ranges {
				p.ranges = append(p.ranges, netip.MustParsePrefix(r))
			}
			for i := range test.count {
				s := p.mustPut(fmt.Sprint("s", i), spec(port), nil)
				addr := netip.MustParseAddr(s.Spec.ClusterIP)
				static := true // in each range that has it
				for _, prefix := range p.ranges {
					if r := rangeOf(prefix); r.has(addr) && uint64(number(addr)-r.first) >= r.static {
						static = false
					}
				}
				if static != (i >= test.count-test.static) {
					t.Errorf("service %d has the address %s", i, addr)
				}
			}
			_, err := p.put("late", spec(port), nil)
			const want = `failed to allocate a serviceIP for Service "late": range is full`
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// A range of a million addresses costs no more than a small one, though another range is full.
func TestLargeRangesAreNotSearched(t *testing.T) {
	t.Parallel()
	values, asked := kind.Values{}, 0
	full := netip.MustParsePrefix("10.16.0.0/12")
	values.Ranges = func() []netip.Prefix { return []netip.Prefix{full, netip.MustParsePrefix("10.32.0.0/12")} }
	values.Taken = func(c kind.Claim) bool {
		asked++
		return full.Contains(netip.MustParseAddr(c.Value))
	}
	k := kindsByResource()["services"]
	if errs, err := k.Assign(read(t, k, "", spec(port)), nil, values); len(errs) > 0 || err != nil || asked > 20 {
		t.Errorf("asked %d times, %v %v", asked, errs, err)
	}
}

func TestNodePortsAreUnique(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for n := range searchOrder(1, lastNodePort-firstNodePort+1, staticNodePorts) {
		p.claims[portClaim(int32(firstNodePort+n))] = "another"
	}
	if got := len(p.claims); got != 2768 {
		t.Fatalf("%d node ports are static, want 2768", got)
	}
	delete(p.claims, portClaim(30085))
	s := p.mustPut("last", spec(`"type":"NodePort"`, port), nil)
	if s.Spec.Ports[0].NodePort != 30085 {
		t.Errorf("ports %v, want the node port 30085, the only free one", s.Spec.Ports)
	}
	_, err := p.put("late", spec(`"type":"NodePort"`, port), nil)
	const want = "failed to allocate a nodePort: range is full"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTakenValuesAreRejected(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.mustPut("kubernetes", spec(port, `"clusterIP":"10.0.0.1"`), nil)
	p.mustPut("np", spec(`"type":"NodePort","ports":[{"port":80,"nodePort":30080}]`), nil)
	for body, want := range map[string]string{
		spec(port,
			`"clusterIP":"10.0.0.1"`): `spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated`,
		spec(`"type":"NodePort","ports":[{"port":80,"nodePort":30080}]`): `spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`,
		spec(balancer,
			`"externalTrafficPolicy":"Local","healthCheckNodePort":30080`): `failed to allocate requested HealthCheck NodePort 30080: provided port is already allocated`,
		spec(balancer,
			`"allocateLoadBalancerNodePorts":false,"clusterIP":"10.0.0.1"`): `spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated`,
		spec(`"type":"NodePort","ports":[{"port":8,"name":"a"},{"port":9,"nodePort":30080,"name":"b"}]`): `spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated`,
	} {
		if _, err := p.put("x", body, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// TestDryRunsNameTheRange checks the text of Kubernetes' Allocator.DryRun (pkg/registry/core/service/ipallocator).
func TestDryRunsNameTheRange(t *testing.T) {
	t.Parallel()
	k := kindsByResource()["services"]
	s := read(t, k, "", spec(port, `"clusterIP":"192.168.0.1"`))
	k.Prepare(s, nil, "")
	errs, err := k.Assign(s, nil, kind.Values{Taken: free, Ranges: defaultRange, DryRun: true})
	const want = `spec.clusterIPs: Invalid value: ["192.168.0.1"]: failed to allocate IP 192.168.0.1: the provided IP ` +
		`(192.168.0.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24`
	if err != nil || len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("%v, %v, want %s", errs, err, want)
	}
}

// TestClaimsFollowTheType changes a service to all types and back.
func TestClaimsFollowTheType(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	const addresses = "serviceips"
	claims := func() (spaces []string) {
		for c := range p.claims {
			spaces = append(spaces, c.Space)
		}
		slices.Sort(spaces)
		return spaces
	}
	var s *corev1.Service
	for _, c := range []struct {
		body string
		want []string
	}{
		{spec(port), []string{addresses}},
		{spec(`"type":"NodePort"`, port), []string{nodePortSpace, addresses}},
		{spec(balancer, `"externalTrafficPolicy":"Local"`), []string{nodePortSpace, nodePortSpace, addresses}},
		{spec(balancer), []string{nodePortSpace, addresses}},
		{spec(port), []string{addresses}},
		{spec(`"type":"ExternalName","externalName":"a"`), nil},
		{spec(port), []string{addresses}},
		{spec(balancer, `"allocateLoadBalancerNodePorts":false`), []string{addresses}},
	} {
		s = p.mustPut("s", c.body, s)
		if diff := cmp.Diff(c.want, claims()); diff != "" {
			t.Errorf("claims of %s (-want +got):\n%s", c.body, diff)
		}
	}
}

// TestUpdatesRetainAssignedValues checks that repeated updates without the assigned values do not change them.
func TestUpdatesRetainAssignedValues(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		spec(port),
		spec(`"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81}]`),
		spec(balancer, `"externalTrafficPolicy":"Local"`),
		spec(`"clusterIP":"None"`),
		spec(port, `"ipFamilyPolicy":"PreferDualStack"`),
		spec(`"type":"ExternalName","externalName":"a"`),
	} {
		p := newPlane(t)
		first := p.mustPut("s", body, nil)
		updated := p.mustPut("s", body, first)
		if diff := cmp.Diff(first.Spec, updated.Spec); diff != "" {
			t.Errorf("%s: an update changed (-first +again):\n%s", body, diff)
		}
	}
}

// TestProtocolsOfOnePortShareANodePort follows initNodePorts (pkg/registry/core/service/storage/alloc.go).
func TestProtocolsOfOnePortShareANodePort(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for name, nodePort := range map[string]string{"chosen": "", "asked": `,"nodePort":30053`} {
		s := p.mustPut(name,
			spec(`"type":"NodePort","ports":[{"name":"a","port":53},{"name":"b","port":53,"protocol":"UDP"`+nodePort+
				`}]`),
			nil)
		if got := s.Spec.Ports; got[0].NodePort == 0 || got[0].NodePort != got[1].NodePort || nodePort != "" &&
			got[0].NodePort != 30053 {
			t.Errorf("%s: ports %v, want one node port for both", name, got)
		}
	}
	if len(p.claims) != 4 {
		t.Errorf("claims %v, want 4", p.claims)
	}
}

// TestNodePortsFollowTheirNames follows patchAllocatedValues (pkg/registry/core/service/storage).
func TestNodePortsFollowTheirNames(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	first := p.mustPut("s", spec(`"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81}]`), nil)
	a, b := first.Spec.Ports[0].NodePort, first.Spec.Ports[1].NodePort
	swapped := p.mustPut("s",
		spec(`"type":"NodePort","ports":[{"name":"b","port":81},{"name":"a","port":8080},{"name":"c","port":82}]`),
		first)
	if got := swapped.Spec.Ports; got[0].NodePort != b || got[1].NodePort != a || got[2].NodePort == 0 ||
		got[2].NodePort == a || got[2].NodePort == b {
		t.Errorf("ports %v; before, a had the node port %d, and b %d", got, a, b)
	}
}

// TestFamiliesOfHeadlessServices follows initIPFamilyFields (pkg/registry/core/service/storage/alloc.go).
func TestFamiliesOfHeadlessServices(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	s := p.mustPut("s", spec(`"clusterIP":"None"`), nil)
	want := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	if diff := cmp.Diff(want, s.Spec.IPFamilies); diff != "" ||
		*s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyRequireDualStack {
		t.Errorf("policy %s, families (-want +got):\n%s", *s.Spec.IPFamilyPolicy, diff)
	}
	single := p.mustPut("s", spec(`"clusterIP":"None","ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4","IPv6"]`), s)
	if diff := cmp.Diff(want[:1], single.Spec.IPFamilies); diff != "" {
		t.Errorf("families of one stack (-want +got):\n%s", diff)
	}
	_, err := p.put("s", spec(`"clusterIP":"None","ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv4"]`), s)
	const refused = `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary IP family`
	if err == nil || err.Error() != refused {
		t.Errorf("got %v, want %s", err, refused)
	}
	if len(p.claims) > 0 {
		t.Errorf("headless services claimed %v", p.claims)
	}
}
