package nginx

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address is an IP address, which may be unspecified, and a port on which nginx listens. The zero value means
// that it does not listen.
type address struct{ netip.AddrPort }

// parseAddress parses "127.0.0.1:8080", "[::1]:8080" or ":8080", which means all IPv4 addresses of the
// machine; "[::]:8080" includes all IPv6 addresses as well. An empty text returns the zero value.
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
		return address{},
			fmt.Errorf("invalid listen address %q: must be an IP address and a port, such as 127.0.0.1:8080, or :8080 for all addresses",
				text)
	}
	return address{netip.AddrPortFrom(ip, uint16(number))}, nil
}

// overlaps reports whether two addresses conflict.
func (a address) overlaps(b address) bool {
	all := a.Addr().IsUnspecified() || b.Addr().IsUnspecified()
	return a.IsValid() && b.IsValid() && a.Port() == b.Port() && (all || a.Addr() == b.Addr())
}

// directive returns the address in nginx's syntax; empty for the zero value.
func (a address) directive() string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// socketOptions returns the options of a listen directive. nginx accepts them only once for each socket, not
// in every virtual server.
func socketOptions(directive string) string {
	if strings.HasPrefix(directive, "[::]:") {
		return " ipv6only=off"
	}
	return ""
}

// public returns the IP address by which others reach nginx: the address itself or, if it is unspecified, the
// machine's first global IPv4 address.
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
