// Package inprocess connects HTTP clients to a handler of the same process, without a socket: Transport is an
// http.RoundTripper that calls an http.Handler.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/inflight"
)

// Transport is an http.RoundTripper that calls a handler in the same process, without a socket or TLS. Each
// request runs in its own goroutine, which ends when the handler returns. Responses stream: RoundTrip returns
// as soon as the header is written. As over a network, the handler sees nothing of the caller's context but
// its cancellation; As adds values, such as the caller's identity, to the handler's context.
//
// If the handler implements Prompt and reports true for a request, the handler runs in the caller's goroutine
// instead, and RoundTrip returns when the handler does. See docs/decisions/0008-callers-goroutine.md.
//
// A Transport is safe for concurrent use. The owner must Close it.
type Transport struct {
	handler  http.Handler
	prompt   func(*http.Request) bool
	identify func(context.Context) context.Context
	requests *requests
}

// RemoteAddr is the RemoteAddr of requests that came through a Transport. A socket's RemoteAddr always has a
// port.
const RemoteAddr = "in-process"

// Prompt is implemented by handlers that know which requests have small responses that are written at the
// end, and return when the request's context ends.
type Prompt interface {
	// Prompt reports whether a request is one of these.
	Prompt(*http.Request) bool
}

// requests are the running requests of a transport and of all transports made from it by As. Their contexts are
// derived from ctx.
type requests struct {
	inflight.Requests
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ErrClosed is returned for requests to a closed Transport.
var ErrClosed = errors.New("the in-process server is closed")

// NewTransport returns a transport that calls h. The caller must Close it.
func NewTransport(h http.Handler) *Transport {
	ctx, cancel := context.WithCancelCause(context.Background())
	prompt := func(*http.Request) bool { return false }
	if p, ok := h.(Prompt); ok {
		prompt = p.Prompt
	}
	return &Transport{
		handler:  h,
		prompt:   prompt,
		identify: func(ctx context.Context) context.Context { return ctx },
		requests: &requests{ctx: ctx, cancel: cancel},
	}
}

// As returns a transport to the same handler for another caller: identify adds the caller's identity to the
// context of each request. Closing either closes both.
func (t *Transport) As(identify func(context.Context) context.Context) *Transport {
	return &Transport{handler: t.handler, prompt: t.prompt, identify: identify, requests: t.requests}
}

// Server returns a string that identifies the handler among those of the process. It is the same for all transports
// made from one by As.
func (t *Transport) Server() string { return fmt.Sprintf("%p", t.requests) }

// RESTConfig returns a client-go config that uses the transport, without a rate limit.
func (t *Transport) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://bowline.in-process", Transport: t, QPS: -1}
}

// Close cancels running requests, waits until their handlers have returned, and rejects new requests with
// ErrClosed.
func (t *Transport) Close() {
	t.Cancel()
	t.Shutdown(context.Background())
}

// Cancel cancels running requests, and later ones as they begin.
func (t *Transport) Cancel() { t.requests.cancel(ErrClosed) }

// Shutdown rejects new requests with ErrClosed and waits for the handlers of running ones to return. If ctx ends first,
// the error names those that have not.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.requests.Close()
	return t.requests.Wait(ctx)
}

// RoundTrip starts the handler and returns when the header is written, or for a Prompt request when the
// handler has returned. The caller must close the body of the response, which cancels a handler that is still
// running. An error means that there was no response: the caller's context ended, the transport is closed, or
// the handler panicked.
func (t *Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	body := q.Body
	if body == nil {
		body = http.NoBody
	}
	if err := q.Context().Err(); err != nil {
		body.Close()
		return nil, err
	}
	running, ok := t.requests.Begin(q)
	if !ok {
		body.Close()
		return nil, ErrClosed
	}
	a := newAnswer(q.Method, body)
	ctx, cancel := context.WithCancelCause(t.identify(t.requests.ctx))
	unlink := context.AfterFunc(q.Context(), func() { cancel(context.Cause(q.Context())) })
	attached := context.AfterFunc(ctx, func() {
		a.fail(context.Cause(ctx))
		body.Close()
	})
	run := func() {
		defer running.End()
		t.serve(a, asReceived(q, ctx, body))
		unlink()
		attached() // the body may still be read after cancel(nil)
		cancel(nil)
		body.Close()
	}
	if t.prompt(q) {
		a.pipe.whole = true
		run()
	} else {
		go run()
	}
	return a.response(q, cancel)
}

// serve runs the handler and turns a panic into an error of the response.
func (t *Transport) serve(a *answer, q *http.Request) {
	defer func() {
		switch p := recover(); p {
		case nil:
			// A handler that stopped because it was canceled has not written a complete response.
			if err := context.Cause(q.Context()); err != nil {
				a.fail(err)
				return
			}
			a.finish()
		case http.ErrAbortHandler:
			a.breakOff(fmt.Errorf("%s %s: the server aborted the answer: %w", q.Method, q.URL.Path,
				io.ErrUnexpectedEOF))
		default:
			slog.Error("panic while serving in process", "method", q.Method, "path", q.URL.Path, "panic", p, "stack",
				string(debug.Stack()))
			a.breakOff(fmt.Errorf("%s %s: the server panicked: %v", q.Method, q.URL.Path, p))
		}
	}()
	t.handler.ServeHTTP(a, q)
}

// asReceived returns the request as a server would receive it.
func asReceived(q *http.Request, ctx context.Context, body io.ReadCloser) *http.Request {
	r := q.WithContext(ctx)
	r.Header = q.Header.Clone()
	r.Body = body
	if r.Host == "" {
		r.Host = q.URL.Host
	}
	r.URL = &url.URL{Path: q.URL.Path, RawPath: q.URL.RawPath, RawQuery: q.URL.RawQuery}
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = RemoteAddr
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	return r
}
