package simulated

import (
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// host is a simulated node. It assigns addresses to its pods. The runtime's lock guards it.
type host struct {
	number int
	inUse  [256]bool
	next   byte
}

// hostNetwork has the addresses of nodes, podNetwork those of pods, with 256 addresses per node.
var (
	hostNetwork = [4]byte{172, 24, 0, 0}
	podNetwork  = [4]byte{10, 128, 0, 0}
)

// addressAt returns the address at an offset in a network, of whose address only the first two bytes count.
func addressAt(network [4]byte, count int) netip.Addr {
	first := uint32(network[0])<<24 | uint32(network[1])<<16
	a := first + uint32(count)
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

func (h *host) address() string { return addressAt(hostNetwork, h.number+1).String() }

func (h *host) network() string { return addressAt(podNetwork, h.number*256).String() + "/24" }

// allocate assigns an address: the wanted one if it belongs to the host and is free, or else the next free one after
// the last that was assigned.
func (h *host) allocate(wanted string) (string, error) {
	if a, err := netip.ParseAddr(wanted); err == nil && a.Is4() {
		last := a.As4()[3]
		if addressAt(podNetwork, h.number*256+int(last)) == a && !h.inUse[last] {
			h.inUse[last] = true
			return wanted, nil
		}
	}
	for range 256 {
		h.next++
		if h.next != 0 && h.next != 255 && !h.inUse[h.next] {
			h.inUse[h.next] = true
			return addressAt(podNetwork, h.number*256+int(h.next)).String(), nil
		}
	}
	return "", errors.New("all 254 addresses of its network are in use")
}

func (h *host) release(ip string) {
	a, err := netip.ParseAddr(ip)
	if err == nil && ip != h.address() {
		h.inUse[a.As4()[3]] = false
	}
}

// Dead implements node.Dying.
func (r *runtime) Dead(n *corev1.Node) bool { return n.Annotations[Prefix+"dead"] == "true" }

// Describe implements node.Runtime.
func (r *runtime) Describe(n *corev1.Node) string {
	host := r.hosts[n.Name]
	n.Labels[corev1.LabelOSStable], n.Labels[corev1.LabelArchStable] = "linux", "amd64"
	n.Labels["node-role.kubernetes.io/simulated"] = ""
	n.Labels[Prefix+"node"] = "true"
	if r.options.Zones > 0 {
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", host.number%r.options.Zones)
	}
	n.Spec.PodCIDR, n.Spec.PodCIDRs = host.network(), []string{host.network()}
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: host.address()}, {Type: corev1.NodeHostName, Address: n.Name},
	}
	n.Status.Capacity = r.options.Capacity
	if n.Status.Capacity == nil {
		n.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		}
	}
	n.Status.DeclaredFeatures = []string{
		"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
	}
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: "simulated", OSImage: "simulated: runs no containers", KernelVersion: "simulated",
		ContainerRuntimeVersion: "simulated://", OperatingSystem: "linux", Architecture: "amd64",
	}
	return "the node is simulated: it sets the status of its pods without running them"
}
