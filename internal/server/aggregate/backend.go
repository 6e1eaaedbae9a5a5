package aggregate

import (
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/bowline-dev/bowline/internal/server/connect"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/openapi"
)

// Backend is the server of one group version, as its APIService describes it. A change of the APIService makes a new
// one.
type Backend struct {
	*Aggregator
	service *apiregistrationv1.APIService // shared, must not be changed
	version schema.GroupVersion
	up      *connect.Upstream
	upError error // why there is no connection: the certificates cannot be read

	found     atomic.Pointer[found]
	available atomic.Pointer[condition]
	answer    atomic.Pointer[answer]
	running   atomic.Int64 // requests that are forwarded

	wake   chan struct{} // tells the goroutine that asks the server to do so now
	ctx    context.Context
	cancel context.CancelFunc
}

// answer is what a server lists about itself.
type answer struct {
	remote   *discovery.Remote
	document *openapi.Remote // nil if it has none
}

const (
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	// pingAfter is how long a connection may be silent before the server is asked whether it is still there.
	pingAfter, pingTimeout = 30 * time.Second, 15 * time.Second
)

// newBackend returns a backend, which does nothing before start. Discovery lists the resources of the replaced backend
// until the new one has answered. replaced is nil for a new APIService.
func (a *Aggregator) newBackend(s *apiregistrationv1.APIService, replaced *Backend) *Backend {
	b := &Backend{
		Aggregator: a, service: s, version: schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version},
		wake: make(chan struct{}, 1),
	}
	b.ctx, b.cancel = context.WithCancel(a.o.Tasks.Context())
	config := a.o.FrontProxy.Clone()
	config.ServerName = s.Spec.Service.Name + "." + s.Spec.Service.Namespace + ".svc"
	config.InsecureSkipVerify = s.Spec.InsecureSkipTLSVerify
	if len(s.Spec.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(s.Spec.CABundle) {
			b.upError = errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	b.up = connect.NewUpstream(a.o.Dial, config)
	b.up.Transport.ForceAttemptHTTP2 = true // watches share a connection
	b.up.Transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	b.up.Transport.TLSHandshakeTimeout, b.up.Transport.IdleConnTimeout = handshakeTimeout, idleTimeout
	b.available.Store(&condition{status: apiregistrationv1.ConditionUnknown})
	for _, c := range s.Status.Conditions { // the last known condition holds until the first check
		if c.Type == apiregistrationv1.Available {
			b.available.Store(&condition{c.Status, c.Reason, c.Message})
		}
	}
	first := &answer{remote: &discovery.Remote{
		GroupVersion: b.version, GroupPriority: int(s.Spec.GroupPriorityMinimum),
		VersionPriority: int(s.Spec.VersionPriority), Stale: true,
	}}
	if replaced != nil {
		last := replaced.answer.Load()
		first.remote.Resources, first.document = last.remote.Resources, last.document
	}
	b.answer.Store(first)
	return b
}

// start starts to ask the server.
func (b *Backend) start() {
	if b.o.Tasks.Begin(task) {
		go func() {
			defer b.o.Tasks.Done(task)
			defer b.up.Transport.CloseIdleConnections()
			b.ask()
		}()
	}
}

// stop ends what start began, and the requests that are forwarded.
func (b *Backend) stop() { b.cancel() }

// sees sets what the Service of the backend looks like now.
func (b *Backend) sees(now *found) {
	if before := b.found.Swap(now); before == nil || !before.equals(now) {
		b.askNow()
	}
}

// askNow makes the next question come at once.
func (b *Backend) askNow() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// address returns an address of the server.
func (b *Backend) address() (string, error) {
	addresses := b.found.Load().addresses
	if len(addresses) == 0 {
		return "", errors.New(b.found.Load().condition.message)
	}
	return addresses[rand.IntN(len(addresses))], nil
}

// path is the path of the group version.
func (b *Backend) path() string {
	return strings.Join([]string{"/apis", b.version.Group, b.version.Version}, "/")
}
