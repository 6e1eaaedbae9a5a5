package controller

import (
	"errors"
	"fmt"
	"net/netip"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

// wanted returns the network that an object declares. The error states what the user has to change. It
// repeats the checks of the schema, because the definition may have no schema.
func wanted(n *v1.Network) (provider.Network, error) {
	cidr, err := parseCIDR(n.Spec.CIDR)
	if err != nil {
		return provider.Network{}, err
	}
	gateway, err := parseGateway(n.Spec.Gateway, cidr)
	if err != nil {
		return provider.Network{}, err
	}
	return provider.Network{UID: n.UID, Owner: n.Namespace + "/" + n.Name, CIDR: cidr, Gateway: gateway}, nil
}

func parseCIDR(s string) (netip.Prefix, error) {
	if s == "" {
		return netip.Prefix{}, errors.New("spec.cidr is required: an address range, such as 192.168.0.0/16")
	}
	cidr, err := netip.ParsePrefix(s)
	if err != nil || cidr.Addr().Is4In6() {
		return netip.Prefix{},
			fmt.Errorf("invalid spec.cidr %q: must be an address range, such as 192.168.0.0/16 or fd00::/64", s)
	}
	if cidr != cidr.Masked() {
		return netip.Prefix{}, fmt.Errorf("spec.cidr %s has bits set after its prefix: use %s", s, cidr.Masked())
	}
	return cidr, nil
}

func parseGateway(s string, cidr netip.Prefix) (netip.Addr, error) {
	if s == "" {
		return netip.Addr{}, fmt.Errorf("spec.gateway is required: an address within %s", cidr)
	}
	gateway, err := netip.ParseAddr(s)
	if err != nil || gateway.Zone() != "" || gateway.Is4In6() {
		return netip.Addr{},
			fmt.Errorf("invalid spec.gateway %q: must be an IP address, such as 192.168.0.1 or fd00::1", s)
	}
	if !cidr.Contains(gateway) {
		return netip.Addr{}, fmt.Errorf("spec.gateway %s is not in spec.cidr %s", gateway, cidr)
	}
	if reserved(gateway, cidr) {
		return netip.Addr{}, fmt.Errorf("spec.gateway %s is the first or last address of %s, which hosts cannot use",
			gateway, cidr)
	}
	return gateway, nil
}

// reserved reports whether an address denotes the network itself or its broadcast address. Networks of one or
// two addresses have neither (RFC 3021), and IPv6 reserves only the first (RFC 4291, 2.6.1).
func reserved(a netip.Addr, cidr netip.Prefix) bool {
	if cidr.Bits() >= a.BitLen()-1 {
		return false
	}
	first := a == cidr.Addr()
	last := a.Is4() && !cidr.Contains(a.Next())
	return first || last
}
