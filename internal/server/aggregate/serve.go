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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/connect"
	"github.com/bowline-dev/bowline/internal/server/status"
)

const (
	// maxRunning is the maximum number of requests that one server has at a time, watches included. Each takes a
	// goroutine and buffers of about 50 KiB here.
	maxRunning = 1024
	// busyRetry is the value of the header Retry-After of a request beyond maxRunning, in seconds.
	busyRetry = 1
)

// Serve forwards a request, with the user of its context, and returns when it has ended. long is set for requests that
// may last: watches and streams. If Serve returns an error, nothing was answered.
func (b *Backend) Serve(w http.ResponseWriter, r *http.Request, long bool) error {
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
	defer context.AfterFunc(b.ctx, cancel)()
	upgrades := httpstream.IsUpgradeRequest(r)
	if !long && !upgrades {
		ctx, cancel = context.WithTimeoutCause(ctx, b.o.Timeout, errSlow)
		defer cancel()
	}
	to := url.URL{Scheme: "https", Host: address, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if upgrades {
		out := r.Clone(ctx)
		out.URL, out.RequestURI = &to, ""
		out.Body, out.ContentLength, out.TransferEncoding = nil, 0, nil
		authenticate(out, r)
		return b.up.Join(w, out, b.o.Timeout)
	}
	return b.proxy(w, r.WithContext(ctx), &to)
}

// forwarding is the name of the forwarded requests among the tasks of the server.
const forwarding = "requests to aggregated API servers"

// errSlow is the cause of the end of a request that took too long.
var errSlow = errors.New("the server did not answer in time")

// proxy forwards a request that does not ask for another protocol.
func (b *Backend) proxy(w http.ResponseWriter, r *http.Request, to *url.URL) (failure error) {
	(&httputil.ReverseProxy{
		Transport: b.up.Transport, ErrorLog: quiet, BufferPool: buffers{},
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = to, to.Host
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			authenticate(p.Out, p.In)
		},
		ModifyResponse: func(answer *http.Response) error {
			if code := answer.StatusCode; code >= http.StatusMultipleChoices && code < http.StatusBadRequest &&
				answer.Header.Get("Location") != "" {
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
	case context.Cause(ctx) == errSlow:
		return apierrors.NewTimeoutError(fmt.Sprintf("the server of APIService %s did not answer within %s",
			b.service.Name, b.o.Timeout), 0)
	case ctx.Err() == nil:
		b.askNow()
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach the server of APIService %s: %v",
		b.service.Name, err))
}

// authenticate makes a request that is sent in place of in say who its user is.
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
