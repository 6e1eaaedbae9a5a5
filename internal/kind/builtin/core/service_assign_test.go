package core

import (
	"fmt"
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
}

func newPlane(t *testing.T) *plane {
	return &plane{t, kindsByResource()["services"], map[kind.Claim]string{}}
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
	errs := claimer.Assign(s, was, taken)
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

func TestAddressesAreUnique(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	var addresses []string
	for n := range staticAddresses {
		addresses = append(addresses, addressAt(n))
	}
	for i := range addressCount {
		s := p.mustPut(fmt.Sprint("s", i), spec(port), nil)
		if i < addressCount-staticAddresses && slices.Contains(addresses, s.Spec.ClusterIP) {
			t.Errorf("%s was assigned automatically before the others were used up", s.Spec.ClusterIP)
		}
	}
	_, err := p.put("late", spec(port), nil)
	const want = "spec.clusterIPs: Internal error: failed to allocate a serviceIP: range is full"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
	const want = "spec.ports[0].nodePort: Internal error: failed to allocate a nodePort: range is full"
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
			`"externalTrafficPolicy":"Local","healthCheckNodePort":30080`): `spec.healthCheckNodePort: Internal error: failed to allocate requested HealthCheck NodePort 30080: provided port is already allocated`,
		spec(balancer,
			`"allocateLoadBalancerNodePorts":false,"clusterIP":"10.0.0.1"`): `spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated`,
		spec(`"type":"NodePort","ports":[{"port":8,"name":"a"},{"port":9,"nodePort":30080,"name":"b"}]`): `spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated`,
	} {
		if _, err := p.put("x", body, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// TestClaimsFollowTheType changes a service to all types and back.
func TestClaimsFollowTheType(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
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
		{spec(port), []string{addressSpace}},
		{spec(`"type":"NodePort"`, port), []string{nodePortSpace, addressSpace}},
		{spec(balancer, `"externalTrafficPolicy":"Local"`), []string{nodePortSpace, nodePortSpace, addressSpace}},
		{spec(balancer), []string{nodePortSpace, addressSpace}},
		{spec(port), []string{addressSpace}},
		{spec(`"type":"ExternalName","externalName":"a"`), nil},
		{spec(port), []string{addressSpace}},
		{spec(balancer, `"allocateLoadBalancerNodePorts":false`), []string{addressSpace}},
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
