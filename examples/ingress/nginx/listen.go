package nginx

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address is where nginx listens: an IP, which may be unspecified, and a port. The zero value is nowhere.
type address struct{ netip.AddrPort }

// parseAddress reads "127.0.0.1:8080", "[::1]:8080" or ":8080", which is all of the machine's IPv4 addresses; "[::]:8080" is
// all of IPv6 as well. Empty is nowhere.
func parseAddress(text string) (address, error) {
	if text == "" {
		return address{}, nil
	}
	host, port, err := net.SplitHostPort(text)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err == nil {
		err = portErr
	}
	if host == "" {
		host = "0.0.0.0"
	}
	ip, ipErr := netip.ParseAddr(host)
	if err = errors.Join(err, ipErr); err != nil || number == 0 || ip.Zone() != "" {
		return address{}, fmt.Errorf("nginx cannot listen on %q: give an IP address and a port, as in 127.0.0.1:8080, or :8080 for all",
			text)
	}
	return address{netip.AddrPortFrom(ip, uint16(number))}, nil
}

// overlaps says whether two addresses have a port in common.
func (a address) overlaps(b address) bool {
	all := a.Addr().IsUnspecified() || b.Addr().IsUnspecified()
	return a.IsValid() && b.IsValid() && a.Port() == b.Port() && (all || a.Addr() == b.Addr())
}

// directive is the address as nginx writes it; empty for nowhere.
func (a address) directive() string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// socketOptions are what nginx is told of the socket of an address. It takes them once, and not in each virtual server.
func socketOptions(directive string) string {
	if strings.HasPrefix(directive, "[::]:") {
		return " ipv6only=off"
	}
	return ""
}

// public is where others find what listens here: the address itself or, of an unspecified one, the machine's first that
// others can reach.
func (a address) public() (netip.Addr, error) {
	if !a.Addr().IsUnspecified() {
		return a.Addr(), nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the machine's address: %w", err)
	}
	for _, candidate := range all {
		prefix, err := netip.ParsePrefix(candidate.String())
		if err == nil && prefix.Addr().IsGlobalUnicast() && prefix.Addr().Is4() {
			return prefix.Addr(), nil
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
}
