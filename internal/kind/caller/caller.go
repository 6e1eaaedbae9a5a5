// Package caller calls the HTTPS server of a webhook as Kubernetes does: by URL or through a Service, with
// JSON bodies, trusting the certificates of a bundle or of the system. Unlike Kubernetes, it limits the size
// of a response and does not follow redirects. Package structural/webhook uses it to convert custom
// resources, and package internal/plugins/webhook to admit writes. These packages define the requests and responses.
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
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/kind"
)

// timeout is the timeout for connecting and for a response, and the time after which idle or silent
// connections are closed.
const timeout = 30 * time.Second

// maxIdleConnections is the maximum number of idle HTTP/1.1 connections per webhook.
const maxIdleConnections = 25

// Resolver returns the host and port at which the Service of a webhook can be reached.
type Resolver func(namespace, name string, port int32) (address string, err error)

// Config is the address of a webhook. Either URL or Service is set.
type Config struct {
	URL     *string
	Service *Service
	// CABundle holds trusted certificates in PEM; empty means those of the system.
	CABundle []byte
	// MaxResponse is the maximum size of a response, in bytes.
	MaxResponse int64
}

// Service refers to a Service of the cluster. The webhook's certificate must be valid for its DNS name.
type Service struct {
	Namespace, Name, Path string
	// Port defaults to 443.
	Port int32
}

// Caller calls one webhook. It is safe for concurrent use and connects on first use.
type Caller struct {
	config    Config
	resolve   Resolver
	transport http.Transport
	client    func() (*rest.RESTClient, error)
	// cancel cancels the closing of the caller at the end of the context.
	cancel func() bool
	// closed makes connections close after their current request.
	closed atomic.Bool
}

// New returns a caller whose requests and responses are encoded with codec. The caller is closed when ctx
// ends.
func New(ctx context.Context, config Config, resolve Resolver, codec func() (runtime.Codec, error)) *Caller {
	c := &Caller{config: config, resolve: resolve}
	c.client = sync.OnceValues(func() (*rest.RESTClient, error) { return c.connect(codec) })
	c.transport.IdleConnTimeout, c.transport.MaxIdleConnsPerHost = timeout, maxIdleConnections
	c.transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout / 2}
	c.cancel = context.AfterFunc(ctx, c.closeIdle)
	return c
}

// Close closes idle connections, and busy ones after their current request. Calls after Close still work,
// without reusing connections.
func (c *Caller) Close() {
	c.cancel()
	c.closeIdle()
}

func (c *Caller) closeIdle() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// done runs after a response was read or a request failed.
func (c *Caller) done() {
	if c.closed.Load() {
		c.transport.CloseIdleConnections()
	}
}

// Client returns the client of the webhook, whose Post goes to its path. It sends nothing yet.
func (c *Caller) Client() (*rest.RESTClient, error) { return c.client() }

// Codec returns a JSON codec for the types of some group-versions. It decodes no other format: Kubernetes also reads
// YAML, whose aliases expand to any size.
func Codec(versions []schema.GroupVersion, add ...func(*runtime.Scheme) error) (runtime.Codec, error) {
	scheme := runtime.NewScheme()
	for _, a := range add {
		if err := a(scheme); err != nil {
			return nil, err
		}
	}
	format := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	return serializer.NewCodecFactory(scheme).CodecForVersions(format, format, schema.GroupVersions(versions),
		runtime.InternalGroupVersioner), nil
}

// Into decodes the response of a call, which may have as many values as the given number of objects.
func Into(result rest.Result, response runtime.Object, objects int) error {
	body, err := result.Raw()
	if err != nil {
		return result.Error() // with the text of a Status in the body
	}
	if err := kind.CheckJSONs(body, objects); err != nil {
		return fmt.Errorf("the response is too large: %w", err)
	}
	return result.Into(response)
}

// target is the URL of a webhook.
type target struct {
	host, path string
	// serverName is the name in the certificate, if it differs from the host.
	serverName string
	http2      bool
}

func (c *Caller) connect(codec func() (runtime.Codec, error)) (*rest.RESTClient, error) {
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	if err := c.configureTLS(t); err != nil {
		return nil, err
	}
	reviews, err := codec()
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Host: t.host, APIPath: t.path, QPS: -1, UserAgent: "bowline"}
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: reviews})
	by := &http.Client{Transport: limitedTransport{c}, Timeout: timeout, CheckRedirect: rejectRedirect}
	return rest.UnversionedRESTClientForConfigAndClient(config, by)
}

// rejectRedirect rejects redirects: otherwise the server of a webhook could make this server send requests to any host
// that it can reach (CVE-2020-8561, which Kubernetes leaves to firewalls).
func rejectRedirect(to *http.Request, _ []*http.Request) error {
	return fmt.Errorf("webhook redirects to %s, which is not followed: set that URL in the configuration",
		to.URL.Redacted())
}

// target derives the target from the configuration.
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
	return target{host: u.Scheme + "://" + u.Host, path: u.Path, http2: isLoopback(u.Hostname())}, nil
}

// service returns the target of a Service. Each new connection resolves the address again.
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

// isLoopback reports whether a host is this machine. For other hosts Kubernetes uses HTTP/1.1, which balances
// better.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// configureTLS sets the trusted certificates: those of the bundle, or the system's.
func (c *Caller) configureTLS(t target) error {
	config := &tls.Config{ServerName: t.serverName, MinVersion: tls.VersionTLS12}
	if bundle := bytes.TrimSpace(c.config.CABundle); len(bundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(bundle) {
			return errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	c.transport.TLSClientConfig = config
	c.transport.TLSHandshakeTimeout = timeout
	c.transport.ForceAttemptHTTP2 = t.http2
	c.transport.Proxy = http.ProxyFromEnvironment
	return nil
}

type maxResponseKey struct{}

// WithMaxResponse returns a context whose calls have a lower limit for the size of a response than the configuration.
func WithMaxResponse(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, maxResponseKey{}, bytes)
}

// limitedTransport limits the size of responses.
type limitedTransport struct{ *Caller }

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.transport.RoundTrip(r)
	if err != nil {
		b.done()
		return nil, err
	}
	most := b.config.MaxResponse
	if of, ok := r.Context().Value(maxResponseKey{}).(int64); ok {
		most = min(most, of)
	}
	answer.Body = &limitedBody{answer.Body, most, most, b.done}
	return answer, nil
}

// limitedBody is a response body that returns an error beyond its limit.
type limitedBody struct {
	io.ReadCloser
	left, max int64
	closed    func()
}

// Close implements io.Closer.
func (l *limitedBody) Close() error {
	defer l.closed()
	return l.ReadCloser.Close()
}

// Read implements io.Reader.
func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the response is larger than %d bytes", l.max)
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
