package core

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/bowline-dev/bowline/internal/kind"
)

// The range of node ports. The static part at its start is assigned automatically only when the rest is used up, so
// that ports that users choose from it are likely to be free (KEP-3668).
const (
	nodePortSpace = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	staticNodePorts             = 86
)

// Errors of assignments, with Kubernetes' wording.
var (
	errRangeFull      = errors.New("range is full")
	errAddressTaken   = errors.New("provided IP is already allocated")
	errAddressOutside = errors.New("the provided network does not match the current range")
	errPortTaken      = errors.New("provided port is already allocated")
	errPortOutside    = fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d",
		firstNodePort, lastNodePort)
)

// serviceClaims returns the claims of a service: its addresses and node ports. A node port for two protocols
// is one claim.
func serviceClaims(s *corev1.Service) (claims []kind.Claim) {
	if hasClusterIP(&s.Spec) && !headless(&s.Spec) {
		for _, ip := range s.Spec.ClusterIPs {
			if addr, ok := parseAddress(ip); ok {
				claims = append(claims, kind.AddressClaim(addr))
			}
		}
	}
	ports := nodePortsOf(&s.Spec)
	if p := s.Spec.HealthCheckNodePort; p != 0 {
		ports[p] = true
	}
	for _, p := range sortedPorts(ports) {
		claims = append(claims, portClaim(p))
	}
	return claims
}

// parseAddress parses an address, of which services of earlier versions may have another form than the canonical one.
func parseAddress(ip string) (netip.Addr, bool) {
	addr, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(ip))
	return addr.Unmap(), ok
}

func portClaim(port int32) kind.Claim {
	return kind.Claim{Space: nodePortSpace, Value: strconv.Itoa(int(port))}
}

// assignment chooses the values of one service.
type assignment struct {
	service *corev1.Service
	// owned are the claims of the service before the write.
	owned  map[kind.Claim]bool
	values kind.Values
	// chosen are the claims chosen so far.
	chosen map[kind.Claim]bool
}

// assignService assigns IP families, cluster IP, node ports and the health check node port.
func assignService(s, old *corev1.Service, values kind.Values) (field.ErrorList, error) {
	a := &assignment{service: s, owned: map[kind.Claim]bool{}, values: values, chosen: map[kind.Claim]bool{}}
	var was *corev1.ServiceSpec
	if old != nil {
		was = &old.Spec
		for _, c := range serviceClaims(old) {
			a.owned[c] = true
		}
	}
	if errs := assignFamilies(&s.Spec, was); len(errs) > 0 {
		return errs, nil
	}
	if errs, err := a.address(was); len(errs) > 0 || err != nil {
		return errs, err
	}
	if hasNodePorts(&s.Spec) {
		if errs, err := a.nodePorts(was == nil); len(errs) > 0 || err != nil {
			return errs, err
		}
	}
	if hasHealthCheckPort(&s.Spec) && (was == nil || !hasHealthCheckPort(was)) {
		return nil, a.healthCheckPort()
	}
	return nil, nil
}

// address assigns a cluster IP to a new service, or to one that was an ExternalName. Existing addresses are
// retained, and a headless service gets none.
func (a *assignment) address(was *corev1.ServiceSpec) (field.ErrorList, error) {
	spec := &a.service.Spec
	if !hasClusterIP(spec) || headless(spec) || was != nil && hasClusterIP(was) {
		return nil, nil
	}
	var ranges []addressRange
	prefixes := a.values.Ranges()
	for _, p := range prefixes {
		if r := rangeOf(p); r.count > 0 {
			ranges = append(ranges, r)
		}
	}
	if len(spec.ClusterIPs) > 0 {
		if err := a.takeAddress(spec.ClusterIPs[0], ranges); err != nil {
			if err == errAddressOutside && a.values.DryRun && len(prefixes) > 0 { // as in Kubernetes
				err = fmt.Errorf("the provided IP (%v) is not in the valid range. The range of valid IPs is %v",
					spec.ClusterIPs[0], prefixes[0])
			}
			return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs,
				fmt.Sprintf("failed to allocate IP %v: %v", spec.ClusterIPs[0], err))}, nil
		}
		return nil, nil
	}
	ip := a.anyAddress(ranges)
	if ip == "" {
		return nil, fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", a.service.Name, errRangeFull)
	}
	spec.ClusterIP, spec.ClusterIPs = ip, []string{ip}
	return nil, nil
}

// takeAddress claims the address that the client requests.
func (a *assignment) takeAddress(ip string, ranges []addressRange) error {
	addr, ok := parseAddress(ip)
	if !ok || !slices.ContainsFunc(ranges, func(r addressRange) bool { return r.has(addr) }) {
		return errAddressOutside
	}
	if !a.take(kind.AddressClaim(addr)) {
		return errAddressTaken
	}
	return nil
}

// fewTries is how many addresses of each range are tried before one of them is searched completely, so that a full
// range costs little if another one has room.
const fewTries = 16

// anyAddress claims a free address, or returns "". Each try that fails has found another owner, so the number of
// tries is bounded by the number of assigned addresses, and not by the size of a range.
func (a *assignment) anyAddress(ranges []addressRange) string {
	for _, tries := range []uint64{fewTries, math.MaxUint64} {
		for _, r := range ranges {
			if ip := a.searchAddress(r, r.static, r.count, tries); ip != "" {
				return ip
			}
		}
	}
	for _, r := range ranges {
		if ip := a.searchAddress(r, 0, r.static, math.MaxUint64); ip != "" {
			return ip
		}
	}
	return ""
}

// searchAddress claims a free address among those from the n-th of a range up to, and without, the end-th, or returns
// "" after some tries.
func (a *assignment) searchAddress(r addressRange, n, end, tries uint64) string {
	if n >= end {
		return ""
	}
	size := end - n
	start := a.seed() % size
	for i := range min(size, tries) {
		if c := kind.AddressClaim(r.at(n + (start+i)%size)); a.take(c) {
			return c.Value
		}
	}
	return ""
}

// nodePorts assigns missing node ports. In a new service, entries with the same port (DNS over TCP and UDP)
// share a node port; later writes choose each separately.
func (a *assignment) nodePorts(create bool) (field.ErrorList, error) {
	spec := &a.service.Spec
	shared := map[int32]int32{}
	for i := range spec.Ports {
		p, path := &spec.Ports[i], field.NewPath("spec", "ports").Index(i).Child("nodePort")
		if create {
			if p.NodePort == 0 && allocatesNodePorts(spec) {
				p.NodePort = cmp.Or(shared[p.Port], askedNodePort(spec.Ports, p.Port))
			}
			if p.NodePort != 0 && p.NodePort == shared[p.Port] {
				continue
			}
		}
		switch {
		case p.NodePort != 0:
			if err := a.takePort(p.NodePort, !create); err != nil {
				return field.ErrorList{field.Invalid(path, p.NodePort, err.Error())}, nil
			}
		case allocatesNodePorts(spec):
			if p.NodePort = a.anyPort(); p.NodePort == 0 {
				return nil, fmt.Errorf("failed to allocate a nodePort: %w", errRangeFull)
			}
		}
		if shared[p.Port] == 0 {
			shared[p.Port] = p.NodePort
		}
	}
	return nil, nil
}

// allocatesNodePorts reports whether missing node ports are assigned; a load balancer may disable that.
func allocatesNodePorts(spec *corev1.ServiceSpec) bool {
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return true
	}
	return spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts
}

// askedNodePort returns the node port that the client requests for an entry with a port number, or 0.
func askedNodePort(ports []corev1.ServicePort, number int32) int32 {
	for _, p := range ports {
		if p.Port == number && p.NodePort != 0 {
			return p.NodePort
		}
	}
	return 0
}

// takePort claims the node port that the client requests. again allows two entries of the service to have the
// same one.
func (a *assignment) takePort(port int32, shared bool) error {
	c := portClaim(port)
	switch {
	case a.owned[c] || shared && a.chosen[c]:
		a.chosen[c] = true
		return nil
	case port < firstNodePort || port > lastNodePort:
		return errPortOutside
	case !a.take(c):
		return errPortTaken
	}
	return nil
}

// anyPort claims a free node port, or returns 0.
func (a *assignment) anyPort() int32 {
	for n := range searchOrder(a.seed(), lastNodePort-firstNodePort+1, staticNodePorts) {
		if port := int32(firstNodePort + n); a.take(portClaim(port)) {
			return port
		}
	}
	return 0
}

func (a *assignment) healthCheckPort() error {
	spec := &a.service.Spec
	if port := spec.HealthCheckNodePort; port != 0 {
		if err := a.takePort(port, false); err != nil {
			return fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", port, err)
		}
		return nil
	}
	if spec.HealthCheckNodePort = a.anyPort(); spec.HealthCheckNodePort == 0 {
		return fmt.Errorf("failed to allocate a HealthCheck NodePort 0: %w", errRangeFull)
	}
	return nil
}

// take claims a value if no service has it. It returns false for a value that this assignment has already
// chosen.
func (a *assignment) take(c kind.Claim) bool {
	if a.chosen[c] || a.owned[c] || a.values.Taken(c) {
		return false
	}
	a.chosen[c] = true
	return true
}

// seed returns the start of the search for free values. It differs between services, which makes conflicts of
// concurrent writes rare, and is constant for a service.
func (a *assignment) seed() uint64 {
	h := fnv.New64a()
	h.Write([]byte(a.service.UID))
	h.Write([]byte(a.service.Namespace + "/" + a.service.Name))
	return h.Sum64()
}

// searchOrder yields 0 to n-1, each once: first those from static on, then those below, both starting at an offset
// that the seed determines.
func searchOrder(seed uint64, n, static int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, part := range [][2]int{{static, n}, {0, static}} {
			size := part[1] - part[0]
			start := int(seed % uint64(size))
			for i := range size {
				if !yield(part[0] + (start+i)%size) {
					return
				}
			}
		}
	}
}
