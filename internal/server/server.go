// Package server implements the Kubernetes API. Except for namespaces and CustomResourceDefinitions, it treats kinds
// only through kind.Kind. Package bowline starts it; controllers use it through the API only.
//
// Its packages, from the wire to the store:
//
//	httpapi     HTTP: authentication, authorization, deadlines, the fair queue, dispatch, answers, watch streams
//	request     the typed form of a request, its options and its result
//	read        gets, lists, and the one event loop of HTTP watches and in-process sources
//	write       creates, updates, patches, applies and deletes, a stage at a time
//	connect     forwards requests to the kubelets of nodes, to pods and to services
//	aggregate   makes other API servers part of this one
//	review      answers questions about tokens, users and rights
//	render      encodes results and events: objects, lists, tables, metadata
//	crd         the kinds that CustomResourceDefinitions define
//	expiry      deletes events after their lifetime
//	flow        assigns requests to priority levels, as FlowSchemas say
//	roles       authorizes requests by roles and bindings
//	operations  backup, verification, initial objects, metrics of what is stored
//	stored      converts between stored objects and the objects that a kind's rules work on
//	status      converts errors to the Status that clients receive
//	metrics, stage, tasks, fair, discovery, openapi
//
// A write goes through these stages, each a span of its trace: authenticate, authorize, route, decode,
// convert, own, admit, validate, encode, commit, answer. An update or a patch has the stage patch before own.
// docs/request.md lists where each is implemented, and the stages of the other verbs.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/serviceaccount"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/server/aggregate"
	"github.com/bowline-dev/bowline/internal/server/component"
	"github.com/bowline-dev/bowline/internal/server/connect"
	"github.com/bowline-dev/bowline/internal/server/crd"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/expiry"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/flow"
	"github.com/bowline-dev/bowline/internal/server/httpapi"
	"github.com/bowline-dev/bowline/internal/server/metrics"
	"github.com/bowline-dev/bowline/internal/server/openapi"
	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/server/read"
	"github.com/bowline-dev/bowline/internal/server/review"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/server/write"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure a Server. The fields below Authorizer are optional.
type Options struct {
	Store         *store.Store
	Kinds         *kind.Registry
	Authenticator auth.Authenticator
	Authorizer    auth.Authorizer
	// Plugins are called for each write, in order.
	Plugins []admission.Plugin
	Log     *slog.Logger
	// Initial are the objects to create or correct before the first request.
	Initial []kind.Initial
	// DisableExpiry disables the expiry of stored events, for forks and backups that are to be inspected.
	DisableExpiry bool
	// Checks are health checks in addition to the server's own.
	Checks []Check
	// Components are the checks of the components that clients see as ComponentStatuses, in addition to the store.
	Components Components
	// ReuseKinds is a server whose store this one shares or was forked from. The kinds it made of unchanged
	// definitions are reused.
	ReuseKinds *Server
	// Why serves /bowline/why, where administrators query the journal of controllers, and controllers in
	// other processes report to it. The path does not exist if it is nil.
	Why http.Handler
	// Collectors are metrics in addition to the server's own.
	Collectors []prometheus.Collector
	// Tokens signs the tokens of service accounts, Bearers authenticates them for TokenReviews, and OpenID publishes
	// the key. Without them, the server issues no tokens.
	Tokens  *serviceaccount.Issuer
	Bearers *serviceaccount.Authenticator
	OpenID  http.Handler
	// TracerProvider creates the tracer of requests; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Limits bound the concurrency of requests; the zero value derives them from the number of cores.
	Limits fair.Limits
	// Kubelet configures the connections to kubelets: see connect.Options. Dial opens the connections to kubelets, pods
	// and the endpoints of services: see connect.Options.
	Kubelet *tls.Config
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	// FrontProxy has the client certificate with which the server sends requests to aggregated API servers; nil for
	// none.
	FrontProxy *tls.Config
	// RequestTimeout bounds every request except watches, backups and those that pods and nodes answer; 0 means a
	// minute.
	RequestTimeout time.Duration
	// Prompt states that the store commits without waiting, in memory: callers in the same process then run
	// requests on their own goroutine (inprocess.Prompt). Admission plugins must end with their context.
	Prompt bool
	// Patience is how long a client may block a write of its watch before it is disconnected; 0 means 30
	// seconds.
	Patience time.Duration
}

// Check is a condition of the server's health.
type Check = httpapi.Check

// Components are the health checks of components, by name.
type Components = component.Checks

// Server serves the Kubernetes API. Create it with New, serve its Handler, Close it.
type Server struct {
	store       *store.Store
	kinds       *kind.Registry
	definitions *crd.Definitions
	expiry      *expiry.Expiry
	reads       *read.Reader
	connector   *connect.Connector
	aggregator  *aggregate.Aggregator
	handler     *httpapi.Handler
	self        *inprocess.Transport // for the server's own requests; nil until it is loaded
	tasks       *tasks.Group
	// cancelConversions ends the calls of conversion webhooks.
	cancelConversions context.CancelFunc
}

// New returns a server on a loaded store, once its kinds are served and its initial objects exist.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = time.Minute
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Limits == (fair.Limits{}) {
		o.Limits = httpapi.Limits(o.RequestTimeout)
	}
	s := &Server{store: o.Store, kinds: o.Kinds, tasks: tasks.New(ctx)}
	var conversions context.Context
	conversions, s.cancelConversions = context.WithCancel(s.tasks.Context())
	version, queue := KubernetesVersion(), fair.New(o.Limits)
	counts := metrics.New(o.Kinds, version, append(slices.Clone(o.Collectors),
		operations.Collector{Store: o.Store, Kinds: o.Kinds}, metrics.Fairness{Queue: queue})...)
	reader := stored.NewReader(o.Store, o.Kinds)
	var writer *write.Writer
	s.definitions = crd.New(crd.Options{
		Store: o.Store, Kinds: o.Kinds, Tasks: s.tasks, Conversions: conversions, Reader: reader, Log: o.Log,
		Replaced:   func(gr schema.GroupResource) { writer.Forget(gr) },
		Removed:    func(gr schema.GroupResource) { writer.Forget(gr); counts.Forget(gr) },
		Reconciled: func(ctx context.Context, group string) { s.aggregator.Reconcile(ctx, group) },
	})
	s.expiry = expiry.New(expiry.Options{Store: o.Store, Kinds: o.Kinds, Tasks: s.tasks, Log: o.Log})
	components := Components{"etcd-0": func(context.Context) error { return s.store.Err() }}
	maps.Copy(components, o.Components)
	s.reads = read.New(read.Options{
		Store: o.Store, Kinds: o.Kinds, Tasks: s.tasks, Authorizer: o.Authorizer, Undefined: s.definitions.Undefined,
		Timeout: o.RequestTimeout, Watching: counts.CountWatch,
		Computed: map[schema.GroupResource]read.Computed{component.Resource: components.Statuses(o.Kinds)},
	})
	writer = write.New(write.Options{
		Store: o.Store, Kinds: o.Kinds, Reader: reader, Authorizer: o.Authorizer, Log: o.Log,
		Reviews: &review.Reviewer{Bearers: o.Bearers, Authorizer: o.Authorizer}, Tokens: o.Tokens,
		Admission: plugins.NewChain(reader, o.Plugins...),
		Lifecycle: slices.ContainsFunc(o.Plugins, func(p admission.Plugin) bool {
			return p == plugins.NamespaceLifecycle{}
		}),
		Definitions: s.definitions, Expiry: s.expiry, Select: s.reads.Page, Observe: counts.Admitted, Tasks: s.tasks,
	})
	s.connector = connect.New(connect.Options{
		Store: o.Store, Kinds: o.Kinds, Reader: reader, Admit: writer.AdmitConnection, Tasks: s.tasks,
		Kubelet: o.Kubelet, Dial: o.Dial, Timeout: o.RequestTimeout,
	})
	flows := flow.New(flow.Options{Store: o.Store, Kinds: o.Kinds, Reader: reader, Queue: queue, Tasks: s.tasks,
		Log: o.Log, Ensure: writer.Ensure})
	s.aggregator = aggregate.New(aggregate.Options{
		Kinds: o.Kinds, Reader: reader, Tasks: s.tasks, Log: o.Log, FrontProxy: o.FrontProxy, Dial: o.Dial,
		Timeout: o.RequestTimeout, Ensure: writer.Ensure, Withdraw: writer.Withdraw, LeaveLocal: o.Initial == nil,
	})
	s.handler = httpapi.New(httpapi.Options{
		Store: o.Store, Kinds: o.Kinds, Authenticator: o.Authenticator, Authorizer: o.Authorizer,
		Read: s.reads, Write: writer, Connect: s.connector, Undefined: s.definitions.Undefined,
		Aggregate: s.aggregator, Discovery: discovery.New(o.Kinds, s.aggregator.Remotes),
		OpenAPI: openapi.New(o.Kinds, version.GitVersion, s.aggregator.Documents),
		Backup:  &operations.Backup{Store: o.Store, Tasks: s.tasks, Log: o.Log}, Why: o.Why, OpenID: o.OpenID,
		Checks: s.checks(o.Checks), Metrics: counts, Tracer: tracer(o.TracerProvider), Fair: queue,
		Flow: flows, Tasks: s.tasks,
		Log: o.Log, Version: version, Timeout: o.RequestTimeout, Patience: o.Patience, Prompt: o.Prompt,
	})
	if o.ReuseKinds != nil {
		s.definitions.TakeOver(o.ReuseKinds.definitions)
	}
	err := s.definitions.Load(ctx)
	if err == nil {
		err = s.expiry.Load(ctx, o.DisableExpiry)
	}
	if err == nil && o.Initial != nil {
		if failed := writer.ConvertClaims(ctx); failed != nil { // the claims hold as they are
			o.Log.Warn("claims of an earlier version are not converted", "error", failed)
		}
		err = ctx.Err()
	}
	if err == nil {
		err = operations.Bootstrap(ctx, o.Log, s.initial(o.Initial), writer.Ensure)
	}
	if err == nil {
		keeper := &operations.Keeper{Store: o.Store, Kinds: o.Kinds, Reader: reader, Tasks: s.tasks, Log: o.Log,
			Ensure: writer.Ensure}
		keeper.Start(o.Initial)
		err = flows.Start(ctx, len(o.Initial) > 0)
	}
	if err == nil {
		s.self = inprocess.NewTransport(s.handler)
		err = s.aggregator.Start(ctx, s.self.As(asItself).RESTConfig())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// itself is the user of the server's own requests.
var itself = auth.NewUser("system:apiserver", auth.AdminGroup)

func asItself(ctx context.Context) context.Context { return auth.WithUser(ctx, itself) }

// initial returns the objects to create or correct; none if there are no others.
func (s *Server) initial(others []kind.Initial) []kind.Initial {
	if others == nil {
		return nil
	}
	return append(slices.Clone(others), aggregate.Initial(s.kinds)...)
}

// checks returns the server's own health checks and the given ones.
func (s *Server) checks(more []Check) []Check {
	return slices.Concat([]Check{
		{Name: "ping", Check: func(context.Context) error { return nil }},
		{Name: "store", Check: func(context.Context) error { return s.store.Err() }},
		{Name: "damage", Check: operations.CheckDamage(s.store), Ready: true, Informational: true},
		{Name: "quota", Check: operations.CheckQuota(s.store), Ready: true, Informational: true},
		{Name: "memory", Check: httpapi.CheckMemory(), Ready: true, Informational: true},
	}, more, []Check{{Name: "shutdown", Ready: true, Check: func(context.Context) error {
		if s.tasks.Context().Err() != nil {
			return errors.New("the server is stopping")
		}
		return nil
	}}})
}

// tracer returns the tracer of requests; nil without a provider.
func tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer("github.com/bowline-dev/bowline/internal/server",
		trace.WithInstrumentationVersion(KubernetesVersion().GitVersion))
}

// Close ends all watches and the server's own goroutines, and waits for them. The caller drains other
// requests in flight.
func (s *Server) Close() { s.Shutdown(context.Background()) }

// Shutdown is like Close. If ctx ends first, it returns an error that names what still runs.
func (s *Server) Shutdown(ctx context.Context) error {
	s.tasks.Cancel()
	s.expiry.Stop()
	if s.self != nil {
		s.self.Cancel()
	}
	defer s.connector.Close()
	return s.tasks.Wait(ctx)
}

// CancelConversions ends the calls of conversion webhooks, and lets later ones fail.
func (s *Server) CancelConversions() { s.cancelConversions() }

// Closing is closed when Close is called, to end listeners that live as long as the server.
func (s *Server) Closing() <-chan struct{} { return s.tasks.Context().Done() }

// Handler returns the server as an http.Handler, which also implements inprocess.Prompt.
func (s *Server) Handler() http.Handler { return s.handler }

// Source returns the in-process list and watch of a user. Requests are authorized like those over HTTP, and
// yield the store's own objects: nothing is encoded. Those for an aggregated API server are forwarded to it.
func (s *Server) Source(user *auth.User) client.Source {
	as := s.self.As(func(ctx context.Context) context.Context { return auth.WithUser(ctx, user) })
	return s.aggregator.Source(s.reads.Source(user), as.RESTConfig())
}

// Verify checks a snapshot of the server's store, or of the store it was forked from. See operations.Verifier.
func (s *Server) Verify(ctx context.Context, snapshot *store.Snapshot) iter.Seq2[operations.Finding, error] {
	v := operations.Verifier{Store: s.store, Kinds: s.kinds, Definitions: s.definitions}
	return v.Verify(ctx, snapshot)
}
