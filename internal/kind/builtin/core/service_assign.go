package core

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
)

// The ranges of service addresses and node ports. The static part at the start of each range is assigned
// automatically only when the rest is used up, so that values that users choose from it are likely to be free
// (KEP-3070, KEP-3668).
const (
	addressSpace  = "serviceips"
	nodePortSpace = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	staticNodePorts             = 86

	addressCount    = 254
	staticAddresses = 16
)

// firstAddress is the first service address.
var firstAddress = netip.MustParseAddr("10.0.0.1")

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
			claims = append(claims, addressClaim(ip))
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

func addressClaim(ip string) kind.Claim { return kind.Claim{Space: addressSpace, Value: ip} }

func portClaim(port int32) kind.Claim {
	return kind.Claim{Space: nodePortSpace, Value: strconv.Itoa(int(port))}
}

// assignment chooses the values of one service.
type assignment struct {
	service *corev1.Service
	// owned are the claims of the service before the write; taken reports the claims of all services.
	owned map[kind.Claim]bool
	taken func(kind.Claim) bool
	// chosen are the claims chosen so far.
	chosen map[kind.Claim]bool
}

// assignService assigns IP families, cluster IP, node ports and the health check node port.
func assignService(s, old *corev1.Service, taken func(kind.Claim) bool) field.ErrorList {
	a := &assignment{service: s, owned: map[kind.Claim]bool{}, taken: taken, chosen: map[kind.Claim]bool{}}
	var was *corev1.ServiceSpec
	if old != nil {
		was = &old.Spec
		for _, c := range serviceClaims(old) {
			a.owned[c] = true
		}
	}
	if errs := assignFamilies(&s.Spec, was); len(errs) > 0 {
		return errs
	}
	if errs := a.address(was); len(errs) > 0 {
		return errs
	}
	if hasNodePorts(&s.Spec) {
		if errs := a.nodePorts(was == nil); len(errs) > 0 {
			return errs
		}
	}
	if hasHealthCheckPort(&s.Spec) && (was == nil || !hasHealthCheckPort(was)) {
		return a.healthCheckPort()
	}
	return nil
}

// address assigns a cluster IP to a new service, or to one that was an ExternalName. Existing addresses are
// retained, and a headless service gets none.
func (a *assignment) address(was *corev1.ServiceSpec) field.ErrorList {
	spec := &a.service.Spec
	if !hasClusterIP(spec) || headless(spec) || was != nil && hasClusterIP(was) {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs")
	if len(spec.ClusterIPs) > 0 {
		if err := a.takeAddress(spec.ClusterIPs[0]); err != nil {
			return field.ErrorList{field.Invalid(path, spec.ClusterIPs,
				fmt.Sprintf("failed to allocate IP %v: %v", spec.ClusterIPs[0], err))}
		}
		return nil
	}
	for n := range searchOrder(a.seed(), addressCount, staticAddresses) {
		ip := addressAt(n)
		if a.take(addressClaim(ip)) {
			spec.ClusterIP, spec.ClusterIPs = ip, []string{ip}
			return nil
		}
	}
	return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a serviceIP: %w", errRangeFull))}
}

// takeAddress claims the address that the client requests.
func (a *assignment) takeAddress(ip string) error {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !addr.Is4() || addr.Less(firstAddress) ||
		netip.MustParseAddr(addressAt(addressCount-1)).Less(addr) {
		return errAddressOutside
	}
	if !a.take(addressClaim(ip)) {
		return errAddressTaken
	}
	return nil
}

// addressAt returns the n-th service address.
func addressAt(n int) string {
	b := firstAddress.As4()
	b[3] += byte(n)
	return netip.AddrFrom4(b).String()
}

// nodePorts assigns missing node ports. In a new service, entries with the same port (DNS over TCP and UDP)
// share a node port; later writes choose each separately.
func (a *assignment) nodePorts(create bool) field.ErrorList {
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
				return field.ErrorList{field.Invalid(path, p.NodePort, err.Error())}
			}
		case allocatesNodePorts(spec):
			if p.NodePort = a.anyPort(); p.NodePort == 0 {
				return field.ErrorList{field.InternalError(path,
					fmt.Errorf("failed to allocate a nodePort: %w", errRangeFull))}
			}
		}
		if shared[p.Port] == 0 {
			shared[p.Port] = p.NodePort
		}
	}
	return nil
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

func (a *assignment) healthCheckPort() field.ErrorList {
	spec, path := &a.service.Spec, field.NewPath("spec", "healthCheckNodePort")
	if port := spec.HealthCheckNodePort; port != 0 {
		if err := a.takePort(port, false); err != nil {
			return field.ErrorList{field.InternalError(path,
				fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", port, err))}
		}
		return nil
	}
	if spec.HealthCheckNodePort = a.anyPort(); spec.HealthCheckNodePort == 0 {
		return field.ErrorList{field.InternalError(path,
			fmt.Errorf("failed to allocate a HealthCheck NodePort 0: %w", errRangeFull))}
	}
	return nil
}

// take claims a value if no service has it. It returns false for a value that this assignment has already
// chosen.
func (a *assignment) take(c kind.Claim) bool {
	if a.chosen[c] || a.owned[c] || a.taken(c) {
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
