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

// Where service addresses and node ports come from, and the part at the beginning of each range that is given out only
// when the rest is used up: who asks for a certain value finds it free there (KEP-3070, KEP-3668).
const (
	addressSpace  = "serviceips"
	nodePortSpace = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	staticNodePorts             = 86

	addressCount    = 254
	staticAddresses = 16
)

// firstAddress is the first that a service may have.
var firstAddress = netip.MustParseAddr("10.0.0.1")

// The reasons why a value cannot be had, in Kubernetes' words.
var (
	errRangeFull      = errors.New("range is full")
	errAddressTaken   = errors.New("provided IP is already allocated")
	errAddressOutside = errors.New("the provided network does not match the current range")
	errPortTaken      = errors.New("provided port is already allocated")
	errPortOutside    = fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
)

// serviceClaims are the address and the node ports of a service. One node port may serve two protocols; it is one claim.
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

// assignment is one run of choosing values for a service.
type assignment struct {
	service *corev1.Service
	// owned are the claims of the service before the write; taken are those of all services.
	owned map[kind.Claim]bool
	taken func(kind.Claim) bool
	// chosen are the values of this run.
	chosen map[kind.Claim]bool
}

// assignService fills in IP families, cluster IP, node ports and the health check's port.
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

// address gives a new service, or one that was only a name, its cluster IP. A service that has one keeps it, and a
// headless one never gets any.
func (a *assignment) address(was *corev1.ServiceSpec) field.ErrorList {
	spec := &a.service.Spec
	if !hasClusterIP(spec) || headless(spec) || was != nil && hasClusterIP(was) {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs")
	if len(spec.ClusterIPs) > 0 {
		if err := a.takeAddress(spec.ClusterIPs[0]); err != nil {
			return field.ErrorList{field.Invalid(path, spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %v: %v", spec.ClusterIPs[0], err))}
		}
		return nil
	}
	for n := range spread(a.seed(), addressCount, staticAddresses) {
		ip := addressAt(n)
		if a.take(addressClaim(ip)) {
			spec.ClusterIP, spec.ClusterIPs = ip, []string{ip}
			return nil
		}
	}
	return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a serviceIP: %w", errRangeFull))}
}

// takeAddress takes the address that the client asks for.
func (a *assignment) takeAddress(ip string) error {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !addr.Is4() || addr.Less(firstAddress) || netip.MustParseAddr(addressAt(addressCount-1)).Less(addr) {
		return errAddressOutside
	}
	if !a.take(addressClaim(ip)) {
		return errAddressTaken
	}
	return nil
}

// addressAt is the n-th address that a service may have.
func addressAt(n int) string {
	b := firstAddress.As4()
	b[3] += byte(n)
	return netip.AddrFrom4(b).String()
}

// nodePorts gives every port that needs one a node port. In a new service, ports of one number (DNS over TCP and UDP)
// share it; a later write chooses each on its own.
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
				return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a nodePort: %w", errRangeFull))}
			}
		}
		if shared[p.Port] == 0 {
			shared[p.Port] = p.NodePort
		}
	}
	return nil
}

// allocatesNodePorts says whether ports without a node port get one; a load balancer may do without.
func allocatesNodePorts(spec *corev1.ServiceSpec) bool {
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return true
	}
	return spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts
}

// askedNodePort is the node port that the client asks for on some port of a number, or 0.
func askedNodePort(ports []corev1.ServicePort, number int32) int32 {
	for _, p := range ports {
		if p.Port == number && p.NodePort != 0 {
			return p.NodePort
		}
	}
	return 0
}

// takePort takes the node port that the client asks for. again lets two ports of the service have the same one.
func (a *assignment) takePort(port int32, again bool) error {
	c := portClaim(port)
	switch {
	case a.owned[c] || again && a.chosen[c]:
		a.chosen[c] = true
		return nil
	case port < firstNodePort || port > lastNodePort:
		return errPortOutside
	case !a.take(c):
		return errPortTaken
	}
	return nil
}

// anyPort is a free node port, or 0.
func (a *assignment) anyPort() int32 {
	for n := range spread(a.seed(), lastNodePort-firstNodePort+1, staticNodePorts) {
		if port := int32(firstNodePort + n); a.take(portClaim(port)) {
			return port
		}
	}
	return 0
}

func (a *assignment) healthCheckPort() field.ErrorList {
	spec, path := &a.service.Spec, field.NewPath("spec", "healthCheckNodePort")
	if asked := spec.HealthCheckNodePort; asked != 0 {
		if err := a.takePort(asked, false); err != nil {
			return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", asked, err))}
		}
		return nil
	}
	if spec.HealthCheckNodePort = a.anyPort(); spec.HealthCheckNodePort == 0 {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("failed to allocate a HealthCheck NodePort 0: %w", errRangeFull))}
	}
	return nil
}

// take chooses a claim that nobody has, this run included.
func (a *assignment) take(c kind.Claim) bool {
	if a.chosen[c] || a.owned[c] || a.taken(c) {
		return false
	}
	a.chosen[c] = true
	return true
}

// seed starts the search for free values at another place for each service, so that writers rarely meet, and at the
// same one for the same service.
func (a *assignment) seed() uint64 {
	h := fnv.New64a()
	h.Write([]byte(a.service.UID))
	h.Write([]byte(a.service.Namespace + "/" + a.service.Name))
	return h.Sum64()
}

// spread yields 0 to n-1, each once: first those from static on, then those below, both from a place that the seed
// decides.
func spread(seed uint64, n, static int) iter.Seq[int] {
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
