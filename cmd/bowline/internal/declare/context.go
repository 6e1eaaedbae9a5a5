package declare

import (
	"context"
	"io"
	"net/http"
)

// contextTransport ends requests when ctx ends. kubectl's clients take no context.
type contextTransport struct {
	http.RoundTripper
	ctx context.Context
}

// RoundTrip implements http.RoundTripper.
func (t contextTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.ctx.Err(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(t.ctx, cancel)
	resp, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	resp.Body = &contextBody{resp.Body, func() { stop(); cancel() }}
	return resp, nil
}

// contextBody releases the context of its request when it is closed.
type contextBody struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *contextBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
