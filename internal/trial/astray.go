package trial

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Astray is a faulty proxy in front of a server: until Mended is set, it answers requests for paths that
// contain Path with a 404 of its own.
type Astray struct {
	Path   string      // part of the URL path
	Mended atomic.Bool // ends the fault
}

// Of returns the program with all its requests going through the proxy.
func (a *Astray) Of(program func(context.Context, *rest.Config) error) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		config.Transport = proxied{config.Transport, a}
		return program(ctx, config)
	}
}

type proxied struct {
	next http.RoundTripper
	way  *Astray
}

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(q *http.Request) (*http.Response, error) {
	if p.way.Mended.Load() || !strings.Contains(q.URL.Path, p.way.Path) {
		return p.next.RoundTrip(q)
	}
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: q,
		Body: io.NopCloser(strings.NewReader("404 page not found")),
	}, nil
}
