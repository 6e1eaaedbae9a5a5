package bowline

import (
	"net"
	"net/netip"
)

// advertisedAddress returns the address and port at which other machines reach the API. The address is invalid if
// they cannot: there is no socket, or it is on the loopback interface. Without a socket the port is 6443,
// kube-apiserver's default.
func (p *Plane) advertisedAddress() netip.AddrPort {
	if p.listener == nil {
		return netip.AddrPortFrom(netip.Addr{}, 6443)
	}
	at := p.listener.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(publicAddress(at.Addr(), ownAddress), at.Port())
}

// publicAddress returns the address at which other machines reach a socket on ip. If ip is unspecified, that is the
// machine's own address.
func publicAddress(ip netip.Addr, outgoing func() netip.Addr) netip.Addr {
	if ip.IsUnspecified() {
		ip = outgoing()
	}
	if ip = ip.Unmap().WithZone(""); ip.IsGlobalUnicast() {
		return ip
	}
	return netip.Addr{}
}

// ownAddress returns the source address of the machine's outgoing packets, preferring IPv4. It is invalid if the
// machine has no route to other networks. The addresses for documentation of RFC 5737 and 3849 stand for any other
// host.
func ownAddress() netip.Addr { return sourceAddress("192.0.2.1:9", "[2001:db8::1]:9") }

// sourceAddress returns the source address of packets to the first of destinations that has a route. It sends nothing:
// connecting a UDP socket only looks up the route.
func sourceAddress(destinations ...string) netip.Addr {
	for _, destination := range destinations {
		c, err := net.Dial("udp", destination)
		if err != nil {
			continue
		}
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
	}
	return netip.Addr{}
}
