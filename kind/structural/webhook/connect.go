package webhook

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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// target is where a webhook listens: its URL, and for a Service the address at which that is reached.
type target struct {
	host, path string
	// serverName is what the certificate must name, where that is not the host.
	serverName string
	http2      bool
}

// connect makes the client of the webhook. Nothing is sent yet.
func (c *Converter) connect() (*rest.RESTClient, error) {
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	if err := c.trust(t); err != nil {
		return nil, err
	}
	reviews := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(reviews), apiextensionsv1beta1.AddToScheme(reviews)); err != nil {
		return nil, err
	}
	codec := serializer.NewCodecFactory(reviews).LegacyCodec(apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion)
	config := &rest.Config{Host: t.host, APIPath: t.path, QPS: -1, UserAgent: "bowline"}
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})
	return rest.UnversionedRESTClientForConfigAndClient(config, &http.Client{Transport: bounded{&c.transport}, Timeout: patience})
}

// target reads the definition's client configuration.
func (c *Converter) target() (target, error) {
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
func (c *Converter) service(s *apiextensionsv1.ServiceReference) target {
	t := target{serverName: s.Name + "." + s.Namespace + ".svc"}
	port := int32(443)
	if s.Port != nil {
		port = *s.Port
	}
	if s.Path != nil {
		t.path = *s.Path
	}
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

// trust sets whose certificates are believed: those of the definition's bundle, or the system's.
func (c *Converter) trust(t target) error {
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
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limited{answer.Body, largestAnswer}
	return answer, nil
}

// limited is a body that fails where it goes on for too long.
type limited struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", largestAnswer)
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
