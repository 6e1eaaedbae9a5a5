package trial

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// NotFoundProxy is a faulty proxy in front of a server: until Mended is set, it answers requests for paths that
// contain Path with a 404 of its own.
type NotFoundProxy struct {
	Path   string      // part of the URL path
	Mended atomic.Bool // ends the fault
}

// Of returns the program with all its requests going through the proxy.
func (p *NotFoundProxy) Of(program Program) Program {
	return func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		config.Transport = proxied{config.Transport, p}
		return program(ctx, config)
	}
}

type proxied struct {
	next  http.RoundTripper
	proxy *NotFoundProxy
}

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(q *http.Request) (*http.Response, error) {
	if p.proxy.Mended.Load() || !strings.Contains(q.URL.Path, p.proxy.Path) {
		return p.next.RoundTrip(q)
	}
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: q,
		Body: io.NopCloser(strings.NewReader("404 page not found")),
	}, nil
}
