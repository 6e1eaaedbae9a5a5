package neutrontest

import (
	"errors"

	"golang.org/x/sys/unix"
)

// port is a reserved port of 127.0.0.1. Neutron listens with SO_REUSEPORT, so without a reservation two of
// them might share a port and answer each other's requests without an error.
type port struct {
	number int
	socket int
}

// reserve binds a socket that never listens: it reserves the port but receives no connections.
func reserve() (*port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

func (p *port) bind() error {
	if err := unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	if err := unix.Bind(p.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	address, err := unix.Getsockname(p.socket)
	if err != nil {
		return err
	}
	p.number = address.(*unix.SockaddrInet4).Port
	return nil
}

func (p *port) release() error { return unix.Close(p.socket) }
