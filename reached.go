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

// ownAddress is the one that the machine sends from to the outside; invalid when it has no way there. Nothing is sent: a UDP
// socket to an address for documentation (RFC 5737) asks the routes alone.
func ownAddress() netip.Addr {
	c, err := net.Dial("udp", "192.0.2.1:9")
	if err != nil {
		return netip.Addr{}
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
}
