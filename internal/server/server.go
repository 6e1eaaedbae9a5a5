// Package server implements the Kubernetes API over HTTP: authentication and authorization, the fair queue,
// one function for each verb, discovery, OpenAPI, tables and watch streams. It knows no kind by name: a kind
// differs from others by its kind.Kind. Package bowline starts it; controllers use it through the API only.
//
// A write goes through these stages, each a span of its trace: authenticate, authorize, route, decode,
// convert, own, admit, validate, encode, commit, answer. An update or a patch has the stage patch before own.
// docs/request.md lists where each is implemented, and the stages of the other verbs.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins"
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/openapi"
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
	// KeepStored disables the expiry of stored events, for forks and backups that are to be inspected.
	KeepStored bool
	// Checks are health checks in addition to the server's own.
	Checks []Check
	// Like is a server whose store this one shares or was forked from. The kinds it made of unchanged
	// definitions are reused.
	Like *Server
	// Why serves /bowline/why, where administrators query the journal of controllers, and controllers in
	// other processes report to it. The path does not exist if it is nil.
	Why http.Handler
	// Collectors are metrics in addition to the server's own.
	Collectors []prometheus.Collector
	// TracerProvider creates the tracer of requests; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Limits bound the concurrency of requests; the zero value derives them from the number of cores.
	Limits fair.Limits
	// RequestTimeout bounds every request except watches and backups; 0 means a minute.
	RequestTimeout time.Duration
	// Prompt states that the store commits without waiting, in memory: callers in the same process then run
	// requests on their own goroutine (inprocess.Prompt). Admission plugins must end with their context.
	Prompt bool
	// Patience is how long a client may block a write of its watch before it is disconnected; 0 means 30
	// seconds.
	Patience time.Duration
}

// Server serves the Kubernetes API. Create it with New, serve its Handler, Close it.
type Server struct {
	store         *store.Store
	kinds         *kind.Registry
	authenticator auth.Authenticator
	authorizer    auth.Authorizer
	admission     *plugins.Chain
	lifecycle     bool // whether admission checks the namespaces of new objects
	discovery     *discovery.Handler
	openapi       *openapi.Handler
	changes       changes
	crds          *definitions
	expiries      map[schema.GroupResource]*expiry // of the kinds that have a Lifetime
	owners        owners
	metrics       *metrics
	fair          *fair.Queue
	heldBack      atomic.Int64 // refusals
	healthChecks  []Check
	why           http.Handler // nil for none
	tracer        trace.Tracer // nil if requests are not traced
	log           *slog.Logger
	timeout       time.Duration
	patience      time.Duration
	prompt        bool
	gzips         sync.Pool // of *gzip.Writer

	// ctx is canceled when the server closes, which ends its watches.
	ctx    context.Context
	cancel context.CancelFunc
	// work counts what Close waits for; mu serializes begin with Close.
	mu   sync.Mutex
	work sync.WaitGroup
}

// New returns a server on a loaded store, once its kinds are served and its initial objects exist.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{
		store: o.Store, kinds: o.Kinds, authenticator: o.Authenticator, authorizer: o.Authorizer,
		discovery: discovery.New(o.Kinds), openapi: openapi.New(o.Kinds, KubernetesVersion().GitVersion),
		why: o.Why, tracer: tracer(o.TracerProvider), log: o.Log, timeout: o.RequestTimeout, patience: o.Patience,
		prompt: o.Prompt,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.timeout == 0 {
		s.timeout = time.Minute
	}
	if s.patience == 0 {
		s.patience = 30 * time.Second
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if o.Limits == (fair.Limits{}) {
		o.Limits = limits(s.timeout)
	}
	s.fair = fair.New(o.Limits)
	s.metrics = newMetrics(append(o.Collectors, objectCounts{s}, damageCount{s}, fairness{s.fair})...)
	s.healthChecks = s.checks(o.Checks)
	s.admission = plugins.NewChain(reader{s}, o.Plugins...)
	s.lifecycle = slices.ContainsFunc(o.Plugins, func(p admission.Plugin) bool {
		return p == plugins.NamespaceLifecycle{}
	})
	s.crds = newDefinitions(s)
	if o.Like != nil {
		s.crds.takeOver(o.Like.crds)
	}
	if err := s.crds.load(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.loadExpiries(ctx, o.KeepStored); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.bootstrap(ctx, o.Initial); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends all watches and the server's own goroutines, and waits for them. The caller drains other
// requests in flight.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	for _, e := range s.expiries {
		e.stop()
	}
	s.work.Wait()
}

// begin adds to the work that Close waits for, until work.Done is called. It returns false once the server
// closes.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// Closing is closed when Close is called, to end listeners that live as long as the server.
func (s *Server) Closing() <-chan struct{} { return s.ctx.Done() }

// Handler returns the server as an http.Handler.
func (s *Server) Handler() http.Handler {
	return (*handler)(s)
}
