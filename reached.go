package bowline

import (
	"net"
	"net/netip"
)

// reachedAt is the address and port by which other machines reach the API. The address is invalid when they do not: there is
// no socket, or it is on the loopback. The port is that of the socket, or else the one that Kubernetes' own server listens on.
func (p *Plane) reachedAt() netip.AddrPort {
	if p.listener == nil {
		return netip.AddrPortFrom(netip.Addr{}, 6443)
	}
	at := p.listener.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(publicAddress(at.Addr(), ownAddress), at.Port())
}

// publicAddress is what others call a socket on an address; a socket on all addresses is called by the machine's own.
func publicAddress(ip netip.Addr, own func() netip.Addr) netip.Addr {
	if ip.IsUnspecified() {
		ip = own()
	}
	if ip = ip.Unmap().WithZone(""); ip.IsGlobalUnicast() {
		return ip
	}
	return netip.Addr{}
}

// ownAddress is the one that the machine sends from to the outside, of IPv4 where it has both; invalid when it has no way
// there. It asks for the ways to addresses for documentation (RFC 5737 and 3849).
func ownAddress() netip.Addr { return sender("192.0.2.1:9", "[2001:db8::1]:9") }

// sender is the address that the machine would send from to the first of others that it has a way to. Nothing is sent: a
// UDP socket asks the routes alone.
func sender(others ...string) netip.Addr {
	for _, other := range others {
		c, err := net.Dial("udp", other)
		if err != nil {
			continue
		}
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
	}
	return netip.Addr{}
}
