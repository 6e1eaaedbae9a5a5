package connect

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	netutils "k8s.io/utils/net"
)

const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	// maxIdle is the maximum number of idle connections to one machine.
	maxIdle = 4
	// maxHead is the maximum length of the head of an answer, in bytes.
	maxHead = 1 << 20
)

// Upstream opens connections to other machines, with one TLS configuration.
type Upstream struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
	// Transport is for requests that do not ask for another protocol.
	Transport *http.Transport
}

// NewUpstream returns an Upstream that opens connections with dial. The caller closes the idle ones.
func NewUpstream(dial func(context.Context, string, string) (net.Conn, error), config *tls.Config) *Upstream {
	return &Upstream{dial: dial, tls: config, Transport: &http.Transport{
		DialContext: dial, TLSClientConfig: config.Clone(), TLSHandshakeTimeout: handshakeTimeout,
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHead,
		DisableCompression: true, // the client decodes what the other machine encodes
	}}
}

// open opens a connection to the host of a URL.
func (u *Upstream) open(ctx context.Context, to *url.URL) (net.Conn, error) {
	port := to.Port()
	if port == "" {
		port = to.Scheme // net knows the ports of http and https
	}
	conn, err := u.dial(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil || to.Scheme != "https" {
		return conn, err
	}
	config := u.tls.Clone()
	config.NextProtos = []string{"http/1.1"} // the others have no upgrade
	if config.ServerName == "" {
		config.ServerName = to.Hostname()
	}
	secured := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// upgrade sends a request that asks for another protocol, and returns the head of the answer and the connection. If the
// answer is not a 101, the connection only has the rest of its body. The caller closes the connection.
func (u *Upstream) upgrade(r *http.Request, within time.Duration) (*http.Response, net.Conn, error) {
	ctx := r.Context()
	conn, err := u.open(ctx, r.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("error dialing backend: %w", err)
	}
	conn.SetDeadline(time.Now().Add(within))
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	limited := &io.LimitedReader{R: conn, N: maxHead}
	reader := bufio.NewReader(limited)
	var response *http.Response
	if err = r.Write(conn); err != nil {
		err = fmt.Errorf("error sending request: %w", err)
	} else {
		response, err = http.ReadResponse(reader, r)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	limited.N = math.MaxInt64
	if response.StatusCode == http.StatusSwitchingProtocols {
		conn.SetDeadline(time.Time{})
	}
	return response, &buffered{conn, reader}, nil
}

// buffered is a connection of which some bytes were read ahead.
type buffered struct {
	net.Conn
	reader io.Reader
}

// Read implements net.Conn.
func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// errAddress is Kubernetes' error for a proxy to an address that is that of no pod or node.
var errAddress = apierrors.NewBadRequest("address not allowed")

// proxyable reports whether requests may be proxied to an address: not to this machine, and not to link-local
// addresses, at which clouds serve credentials.
func proxyable(address string) bool {
	ip := netutils.ParseIPSloppy(address)
	return ip != nil && ip.IsGlobalUnicast()
}

// checkHost returns an error unless requests may be proxied to all addresses of a host.
func checkHost(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err == nil && len(found) == 0 {
		err = errors.New("no addresses for hostname")
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	for _, address := range found {
		if !address.IP.IsGlobalUnicast() {
			return errAddress
		}
	}
	return nil
}

// refuseLocal is the Control of a net.Dialer. It refuses the addresses that checkHost does: a name may have other
// addresses than when it was checked.
func refuseLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsGlobalUnicast() {
		return fmt.Errorf("address %s not allowed", address)
	}
	return nil
}
