// Package connect forwards requests to other machines: streams of exec, attach and port-forward, and logs, to the
// kubelet of a node; proxied HTTP to pods, to the endpoints of services, and to kubelets. It decodes the options of a
// request, passes them to admission, finds the machine, and forwards. It stores nothing.
//
// Package httpapi calls it after authentication, authorization and the fair queue. A request for a stream also needs
// the right to create, whatever its method. A forwarded request leaves its seats of the queue once the machine is
// found, and has no deadline, like a watch: it ends when either end closes it, or with the server.
package connect

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure a Connector. All are required except Kubelet and Dial.
type Options struct {
	Store  *store.Store
	Kinds  *kind.Registry
	Reader *stored.Reader
	// Admit lets the admission plugins change and reject the options of a request.
	Admit func(req *request.Request, options kind.Object) error
	// Tasks are those of the server. Forwarded requests end when they are canceled.
	Tasks *tasks.Group
	// Kubelet configures the connections to kubelets: the client certificate, and the RootCAs that verify their
	// certificates. Without RootCAs, or if Kubelet is nil, they are not verified.
	Kubelet *tls.Config
	// Dial opens the connections to other machines. If it is nil, a net.Dialer opens them, which refuses loopback and
	// link-local addresses to proxied requests; another Dial must do that itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout is how long another machine may take to answer a request to open a stream.
	Timeout time.Duration
}

// Connector forwards requests. Its methods may be called concurrently.
type Connector struct {
	o       Options
	running atomic.Int64
	// kubelet is for streams and logs, insecure for logs whose client asks for no verification. proxiedKubelet has the
	// credentials of kubelet and refuses the addresses that proxied does.
	kubelet, insecure, proxiedKubelet, proxied *Upstream
}

const (
	// task is the name of a forwarded request among the tasks of the server.
	task = "requests to pods and nodes"
	// maxRunning is the maximum number of forwarded requests. Each has two connections, two goroutines and their
	// buffers, of about 100 KiB in total.
	maxRunning = 2048
	// retryAfter is the value of the header Retry-After of a request beyond maxRunning, in seconds.
	retryAfter = 1
)

// New returns a Connector. The caller must Close it.
func New(o Options) *Connector {
	open, proxy := o.Dial, o.Dial
	if o.Dial == nil {
		open = (&net.Dialer{Timeout: dialTimeout}).DialContext
		proxy = (&net.Dialer{Timeout: dialTimeout, Control: refuseLocal}).DialContext
	}
	verified := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Kubelet != nil {
		verified = o.Kubelet.Clone()
	}
	unverified := verified.Clone()
	unverified.InsecureSkipVerify, unverified.RootCAs = true, nil
	if verified.RootCAs == nil { // like a kube-apiserver without --kubelet-certificate-authority
		verified = unverified
	}
	return &Connector{
		o:              o,
		kubelet:        NewUpstream(open, verified),
		insecure:       NewUpstream(open, unverified),
		proxiedKubelet: NewUpstream(proxy, verified),
		proxied:        NewUpstream(proxy, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}),
	}
}

// Close closes idle connections. The caller has waited for the tasks.
func (c *Connector) Close() {
	for _, u := range []*Upstream{c.kubelet, c.insecure, c.proxiedKubelet, c.proxied} {
		u.Transport.CloseIdleConnections()
	}
}

// Serve forwards a request for a subresource with kind.Subresource.Connect, and returns when it has ended. If it
// returns an error, nothing was answered.
func (c *Connector) Serve(w http.ResponseWriter, r *http.Request, req *request.Request) error {
	options, err := decodeOptions(req)
	if err != nil {
		return err
	}
	if !req.Sub.Connect.Text {
		if err := admit(c.o.Admit, req, options); err != nil {
			return err
		}
	}
	if !req.Sub.Connect.Text && !req.Sub.Connect.Proxy && req.Verb != "create" {
		// A client that may only get pods must not open a stream, although a WebSocket is opened with a GET.
		if err := req.May(req.Context(), "create"); err != nil {
			return err
		}
	}
	req.Spans.At(stage.Read)
	to, err := c.locate(req, options)
	if err != nil {
		return err
	}
	req.Seats.Leave()
	req.Spans.At(stage.Answer)
	if to == nil { // a pod without a node has no log
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if c.running.Add(1) > maxRunning {
		c.running.Add(-1)
		return apierrors.NewTooManyRequests("the server forwards too many requests to pods and nodes; close some of "+
			"them", retryAfter)
	}
	defer c.running.Add(-1)
	if !c.o.Tasks.Begin(task) {
		return store.ErrClosed
	}
	defer c.o.Tasks.Done(task)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(c.o.Tasks.Context(), cancel)()
	return c.forward(w, r.WithContext(ctx), req, to)
}

// forward chooses how to forward a request.
func (c *Connector) forward(w http.ResponseWriter, r *http.Request, req *request.Request, to *target) error {
	upgrades := httpstream.IsUpgradeRequest(r)
	if req.Sub.Connect.Proxy {
		to.url.RawQuery = r.URL.RawQuery
		if strings.HasSuffix(r.URL.Path, "/") && !strings.HasSuffix(to.url.Path, "/") {
			to.url.Path += "/"
		}
	}
	switch {
	case req.Sub.Connect.Text:
		return streamLog(w, r, req, to)
	case !upgrades && req.Sub.Connect.Proxy:
		return proxy(w, r, req, to)
	case !upgrades:
		return apierrors.NewBadRequest("Upgrade request required")
	case !Hijackable(w):
		return apierrors.NewBadRequest("a stream to a pod or a node needs a connection of its own: a client in the " +
			"process of the server has none; use the socket of the server")
	}
	switch {
	case to.streams != nil && !to.websockets && isWebSocket(r, remoteCommandV5):
		return c.translate(w, r, to)
	case req.Subresource == "portforward" && !to.websockets && len(tunneled(r)) > 0:
		return c.tunnel(w, r, to)
	}
	return c.join(w, r, to)
}

// Hijackable reports whether the connection below a ResponseWriter can be taken over.
func Hijackable(w http.ResponseWriter) bool {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			_, can := w.(http.Hijacker)
			return can
		}
		w = wrapper.Unwrap()
	}
}
