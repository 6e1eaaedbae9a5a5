package pki

import (
	"net"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Hosts returns the names and addresses that a server's certificate covers: those of this machine, the listen
// host (every address of the machine if it is 0.0.0.0 or ::), and those at which pods reach the API: the
// Service kubernetes in the namespace default and its address.
func Hosts(listenHost string) []string {
	hosts := []string{
		"127.0.0.1", "::1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"10.0.0.1",
	}
	if name, err := os.Hostname(); err == nil && len(validation.IsDNS1123Subdomain(strings.ToLower(name))) == 0 {
		hosts = append(hosts, name)
	}
	if ip := net.ParseIP(listenHost); listenHost == "" || ip != nil && ip.IsUnspecified() {
		hosts = append(hosts, ownAddresses()...)
	} else {
		hosts = append(hosts, listenHost)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// ownAddresses returns the addresses at which other machines may reach this host.
func ownAddresses() []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []string
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			own = append(own, network.IP.String())
		}
	}
	return own
}
