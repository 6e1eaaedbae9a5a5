package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"

	"k8s.io/client-go/rest"
)

// Transport is an http.RoundTripper that calls a handler of the same process: no socket, no TLS, and no goroutine but
// one for each request, which ends when the handler returns. Answers stream: RoundTrip returns when the header is
// written. As on the wire, the handler gets nothing of the caller's context but its end; unlike there, it is told who
// calls by what As puts into its context.
//
// A handler that is Prompt about a request has not even that goroutine: it runs on the caller's, and RoundTrip returns
// when it does. See docs/decisions/0008-callers-goroutine.md.
//
// A Transport may be used by many goroutines. Close ends it.
type Transport struct {
	handler  http.Handler
	prompt   func(*http.Request) bool
	identify func(context.Context) context.Context
	requests *requests
}

// InProcess is the RemoteAddr of requests that came through a Transport, and of no other: that of a socket has a port.
const InProcess = "in-process"

// Prompt is implemented by handlers that know of requests whose answers are small, come at the end, and do not outlast the
// request's context.
type Prompt interface {
	// Prompt says whether the answer to a request is such a one.
	Prompt(*http.Request) bool
}

// requests are those of a transport and of all that As made of it.
type requests struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// ErrClosed is why a transport that was closed answers nothing.
var ErrClosed = errors.New("the in-process server is closed")

// NewTransport makes a transport to h. The caller must Close it.
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

// As is the same transport for another caller: identify puts what the handler knows a caller by into the context of
// each request. Closing either closes both.
func (t *Transport) As(identify func(context.Context) context.Context) *Transport {
	return &Transport{handler: t.handler, prompt: t.prompt, identify: identify, requests: t.requests}
}

// RESTConfig is what client-go makes clients of this transport from. It has no rate limit.
func (t *Transport) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://bowline.in-process", Transport: t, QPS: -1}
}

// Close cancels the requests that still run, waits until their handlers have returned, and refuses new ones.
func (t *Transport) Close() {
	t.requests.cancel(ErrClosed)
	t.Shutdown(context.Background())
}

// Shutdown refuses new requests and waits for those that still run, which are cancelled when ctx ends. When it returns,
// their handlers have returned; they were given time enough if ctx has not ended.
func (t *Transport) Shutdown(ctx context.Context) {
	r := t.requests
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	defer context.AfterFunc(ctx, func() { r.cancel(ErrClosed) })()
	r.active.Wait()
}

// begin counts a request in, unless the transport is closed.
func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.active.Add(1)
	}
	return !r.closed
}

// RoundTrip starts the handler and returns when it has written its header, or has returned where it is Prompt. The body of
// the answer must be closed, which cancels a handler that still runs. An error says that there was no answer: the caller's
// context has ended, the transport is closed, or the handler panicked.
func (t *Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	body := q.Body
	if body == nil {
		body = http.NoBody
	}
	if err := q.Context().Err(); err != nil {
		body.Close()
		return nil, err
	}
	if !t.requests.begin() {
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
		defer t.requests.active.Done()
		t.serve(a, asReceived(q, ctx, body))
		unlink()
		attached() // what was written may be read after the handler's end, which ends its context
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

// serve runs the handler and turns a panic into an error of the answer.
func (t *Transport) serve(a *answer, q *http.Request) {
	defer func() {
		switch p := recover(); p {
		case nil:
			// A handler that stopped because it was cancelled has not given a whole answer.
			if err := context.Cause(q.Context()); err != nil {
				a.fail(err)
				return
			}
			a.finish()
		case http.ErrAbortHandler:
			a.breakOff(fmt.Errorf("%s %s: the server aborted the answer: %w", q.Method, q.URL.Path, io.ErrUnexpectedEOF))
		default:
			slog.Error("panic while serving in process", "method", q.Method, "path", q.URL.Path, "panic", p, "stack", string(debug.Stack()))
			a.breakOff(fmt.Errorf("%s %s: the server panicked: %v", q.Method, q.URL.Path, p))
		}
	}()
	t.handler.ServeHTTP(a, q)
}

// asReceived is the request as a server sees it.
func asReceived(q *http.Request, ctx context.Context, body io.ReadCloser) *http.Request {
	r := q.WithContext(ctx)
	r.Header = q.Header.Clone()
	r.Body = body
	if r.Host == "" {
		r.Host = q.URL.Host
	}
	r.URL = &url.URL{Path: q.URL.Path, RawPath: q.URL.RawPath, RawQuery: q.URL.RawQuery}
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = InProcess
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	return r
}
