package aggregate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/connect"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/server/tasks"
)

const (
	// maxRunning is the maximum number of requests that one server has at a time, watches included. Each takes a
	// goroutine and buffers of about 50 KiB here.
	maxRunning = 1024
	// busyRetry is the value of the header Retry-After of a request beyond maxRunning, in seconds.
	busyRetry = 1
)

// Serve forwards a request, with the user of its context, and returns when it has ended. The caller limits its time. If
// Serve returns an error, nothing was answered.
func (b *Backend) Serve(w http.ResponseWriter, r *http.Request) error {
	if now := b.available.Load(); now.status != apiregistrationv1.ConditionTrue {
		message := "it has not been asked yet"
		if now.reason != "" {
			message = now.reason + ": " + now.message
		}
		return apierrors.NewServiceUnavailable(fmt.Sprintf("the server of APIService %s is not available: %s",
			b.service.Name, message))
	}
	address, err := b.address()
	if err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	defer b.running.Add(-1)
	if b.running.Add(1) > maxRunning {
		return apierrors.NewTooManyRequests(fmt.Sprintf("the server of APIService %s has %d requests; close some of them",
			b.service.Name, maxRunning), busyRetry)
	}
	if !b.o.Tasks.Begin(forwarding) {
		return apierrors.NewServiceUnavailable("the server is stopping")
	}
	defer b.o.Tasks.Done(forwarding)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer tasks.OnDone(b.ctx, func() {
		cancel()
		http.NewResponseController(w).SetWriteDeadline(time.Now()) // a client that does not read must not delay the end
	})()
	// What was authorized is forwarded: the decoded path, and the query as it was read here.
	to := url.URL{Scheme: "https", Host: address, Path: r.URL.Path, RawQuery: r.URL.Query().Encode()}
	if !httpstream.IsUpgradeRequest(r) {
		return b.proxy(w, r.WithContext(ctx), &to)
	}
	if !connect.Hijackable(w) {
		return apierrors.NewBadRequest("a stream to an aggregated API server needs a connection of its own: a client in " +
			"the process of the server has none; use the socket of the server")
	}
	out := connect.Outgoing(r.WithContext(ctx), &to)
	out.Host = address
	authenticate(out, r)
	if err := b.up.Join(w, out, b.o.Timeout); err != nil {
		return b.failure(ctx, err)
	}
	return nil
}

// forwarding is the name of the forwarded requests among the tasks of the server.
const forwarding = "requests to aggregated API servers"

// proxy forwards a request that does not ask for another protocol.
func (b *Backend) proxy(w http.ResponseWriter, r *http.Request, to *url.URL) (failure error) {
	if r.Context().Value(http.ServerContextKey) == nil {
		// A request in this process: without the key, ReverseProxy ends an answer that broke off like a whole one.
		r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{}))
	}
	(&httputil.ReverseProxy{
		Transport: b.up.Transport, ErrorLog: quiet, BufferPool: buffers{},
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = to, to.Host
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			authenticate(p.Out, p.In)
		},
		ModifyResponse: func(answer *http.Response) error {
			switch code := answer.StatusCode; {
			case code < http.StatusOK && code != http.StatusSwitchingProtocols:
				return fmt.Errorf("invalid status code %d", code)
			case code >= http.StatusMultipleChoices && code < http.StatusBadRequest && answer.Header.Get("Location") != "":
				return errRedirect
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failure = b.failure(r.Context(), err) },
	}).ServeHTTP(w, r)
	return failure
}

var errRedirect = errors.New("the backend attempted to redirect this request, which is not permitted")

// failure returns the answer to a request that failed with err.
func (b *Backend) failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errRedirect):
		return status.Generic(http.StatusBadGateway, "", err.Error())
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return apierrors.NewTimeoutError(fmt.Sprintf("the server of APIService %s did not answer in time",
			b.service.Name), 0)
	case ctx.Err() == nil:
		b.askNow()
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach the server of APIService %s: %v",
		b.service.Name, err))
}

// authenticate replaces the credentials of out with headers that name the user of in.
func authenticate(out, in *http.Request) {
	connect.RemoveCredentials(out.Header)
	if user, known := auth.UserFrom(in.Context()); known {
		transport.SetAuthProxyHeaders(out, user.Name, user.UID, user.Groups, user.Extra)
	}
}

var quiet = log.New(io.Discard, "", 0)

// buffers implements httputil.BufferPool.
type buffers struct{}

const bufferSize = 32 << 10

var pool = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte { return pool.Get().(*[bufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) { pool.Put((*[bufferSize]byte)(b)) }
