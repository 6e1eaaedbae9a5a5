// Package caller asks somebody's HTTPS server, a webhook, as Kubernetes does: by URL or through a Service, trusting the
// certificates of a bundle or the system's, in JSON. Otherwise than there, it reads no more of the answer than there may be, and
// goes nowhere else. Package
// structural/webhook converts custom resources by it, package admission/webhook has writes admitted by it. What a question and
// its answer are is theirs.
package caller

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// patience is how long a connection may take, how long it is kept when nobody uses it, and how long a silent one is believed.
const patience = 30 * time.Second

// idleConnections are how many connections that one request each goes over (HTTP/1.1) are kept for the next ones.
const idleConnections = 25

// Resolver finds where the Service of a webhook is, as host and port.
type Resolver func(namespace, name string, port int32) (address string, err error)

// Config says who is called. Either URL or Service is set.
type Config struct {
	URL     *string
	Service *Service
	// CABundle are the PEM certificates that are believed; empty means the system's.
	CABundle []byte
	// Largest is how much of an answer is read, in bytes.
	Largest int64
}

// Service is a webhook behind a Service of the cluster. Its certificate names that.
type Service struct {
	Namespace, Name, Path string
	// Port is 443 where it is 0.
	Port int32
}

// Caller calls one webhook. It is safe for concurrent use and connects when it is first asked.
type Caller struct {
	config    Config
	resolve   Resolver
	transport http.Transport
	client    func() (*rest.RESTClient, error)
	// forget undoes that the end of the context closes the caller.
	forget func() bool
	// closed says that no connection is kept any longer than it is used.
	closed atomic.Bool
}

// New makes a caller of what codec reads and writes. The end of ctx closes it.
func New(ctx context.Context, config Config, resolve Resolver, codec func() (runtime.Codec, error)) *Caller {
	c := &Caller{config: config, resolve: resolve}
	c.client = sync.OnceValues(func() (*rest.RESTClient, error) { return c.connect(codec) })
	c.transport.IdleConnTimeout, c.transport.MaxIdleConnsPerHost = patience, idleConnections
	c.transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience / 2}
	c.forget = context.AfterFunc(ctx, c.letGo)
	return c
}

// Close lets go of connections: of those that are used, after that. Who still has the caller may still call.
func (c *Caller) Close() {
	c.forget()
	c.letGo()
}

func (c *Caller) letGo() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// called is done when an answer was read, or none came.
func (c *Caller) called() {
	if c.closed.Load() {
		c.transport.CloseIdleConnections()
	}
}

// Client is the client of the webhook, whose Post goes to its path. Nothing is sent yet.
func (c *Caller) Client() (*rest.RESTClient, error) { return c.client() }

// Codec reads and writes the types of some group-versions, in JSON.
func Codec(versions []schema.GroupVersion, add ...func(*runtime.Scheme) error) (runtime.Codec, error) {
	scheme := runtime.NewScheme()
	for _, a := range add {
		if err := a(scheme); err != nil {
			return nil, err
		}
	}
	return serializer.NewCodecFactory(scheme).LegacyCodec(versions...), nil
}

// target is where a webhook listens: its URL, and for a Service the address at which that is reached.
type target struct {
	host, path string
	// serverName is what the certificate must name, where that is not the host.
	serverName string
	http2      bool
}

func (c *Caller) connect(codec func() (runtime.Codec, error)) (*rest.RESTClient, error) {
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	if err := c.trust(t); err != nil {
		return nil, err
	}
	reviews, err := codec()
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Host: t.host, APIPath: t.path, QPS: -1, UserAgent: "bowline"}
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: reviews})
	by := &http.Client{Transport: bounded{c}, Timeout: patience, CheckRedirect: stay}
	return rest.UnversionedRESTClientForConfigAndClient(config, by)
}

// stay follows no redirect: who answers a review could have this server ask whomever it reaches (CVE-2020-8561, which Kubernetes
// leaves to firewalls).
func stay(to *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to %s, where nobody is asked: name that in the configuration", to.URL.Redacted())
}

// target reads the configuration.
func (c *Caller) target() (target, error) {
	if s := c.config.Service; s != nil {
		return c.service(s), nil
	}
	if c.config.URL == nil {
		return target{}, errors.New("webhook configuration must have either service or URL")
	}
	u, err := url.Parse(*c.config.URL)
	if err != nil {
		return target{}, fmt.Errorf("Unparsable URL: %w", err) //lint:ignore ST1005 the text is Kubernetes'
	}
	return target{host: u.Scheme + "://" + u.Host, path: u.Path, http2: local(u.Hostname())}, nil
}

// service is a webhook behind a Service: its certificate names that, and its address is looked up for each connection.
func (c *Caller) service(s *Service) target {
	port := s.Port
	if port == 0 {
		port = 443
	}
	t := target{serverName: s.Name + "." + s.Namespace + ".svc", path: s.Path}
	t.host = "https://" + net.JoinHostPort(t.serverName, strconv.Itoa(int(port)))
	c.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := c.resolve(s.Namespace, s.Name, port)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return t
}

// local says that a host is this machine; to others Kubernetes speaks HTTP/1.1, which balances better.
func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// trust sets whose certificates are believed: those of the bundle, or the system's.
func (c *Caller) trust(t target) error {
	config := &tls.Config{ServerName: t.serverName, MinVersion: tls.VersionTLS12}
	if bundle := bytes.TrimSpace(c.config.CABundle); len(bundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(bundle) {
			return errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	c.transport.TLSClientConfig = config
	c.transport.TLSHandshakeTimeout = patience
	c.transport.ForceAttemptHTTP2 = t.http2
	c.transport.Proxy = http.ProxyFromEnvironment
	return nil
}

// bounded reads no more of an answer than a webhook may say.
type bounded struct{ *Caller }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.transport.RoundTrip(r)
	if err != nil {
		b.called()
		return nil, err
	}
	answer.Body = &limited{answer.Body, b.config.Largest, b.config.Largest, b.called}
	return answer, nil
}

// limited is a body that fails where it goes on for too long.
type limited struct {
	io.ReadCloser
	left, largest int64
	closed        func()
}

// Close implements io.Closer.
func (l *limited) Close() error {
	defer l.closed()
	return l.ReadCloser.Close()
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", l.largest)
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
