// Package server turns HTTP into typed requests and answers them from the store: the filter chain, the pipeline (one
// short function per verb), discovery, OpenAPI, tables and watch streaming. It knows no kind by name; what a kind needs
// comes through kind.Kind. Package bowline starts it; controllers never reach it but through the API.
//
// The stages of a write, in order, each a span of its trace: authenticate > authorize > route > decode > convert > own >
// admit > validate > encode > commit > answer. An update or a patch has patch before own. docs/request.md draws them and
// says where each is in the code, and what the other verbs have.
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
	"github.com/bowline-dev/bowline/internal/server/discovery"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/openapi"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options are what a server is made of. What stands below the Authorizer may be left out.
type Options struct {
	Store         *store.Store
	Kinds         *kind.Registry
	Authenticator auth.Authenticator
	Authorizer    auth.Authorizer
	// Plugins are asked about each write, in order.
	Plugins []admission.Plugin
	Log     *slog.Logger
	// Initial are objects to create where they are not there yet, before the first request, and to correct where they are.
	Initial []kind.Initial
	// KeepStored has events that are stored already stay for ever: those of a fork or a backup are what somebody wants to see.
	KeepStored bool
	// Checks are what health means beside what the server knows itself.
	Checks []Check
	// Like is a server whose objects the store shares, or shared: what it has made of definitions is taken over, where they
	// are the same.
	Like *Server
	// Why answers at /bowline/why, where administrators ask why controllers did what they did, and controllers of other
	// processes tell it; nil leaves the path out.
	Why http.Handler
	// Collectors are what /metrics has beside what the server counts itself.
	Collectors []prometheus.Collector
	// TracerProvider makes the tracer of requests; nil traces nothing.
	TracerProvider trace.TracerProvider
	// Limits are what requests may take of this machine at once; zero is by its cores.
	Limits fair.Limits
	// RequestTimeout bounds every request but watches and backups; 0 means a minute.
	RequestTimeout time.Duration
	// Prompt says that the store commits without waiting, in memory: callers in the same process need no goroutine beside their
	// own then (client.Prompt). What admission asks must end with its context.
	Prompt bool
	// Patience is how long a client may leave a write of its watch waiting before it is cut off; 0 means 30 seconds.
	Patience time.Duration
}

// Server answers the Kubernetes API. Make it with New, serve its Handler, Close it.
type Server struct {
	store         *store.Store
	kinds         *kind.Registry
	authenticator auth.Authenticator
	authorizer    auth.Authorizer
	admission     *admission.Chain
	lifecycle     bool // whether admission asks after namespaces
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
	tracer        trace.Tracer // nil while nobody traces
	log           *slog.Logger
	timeout       time.Duration
	patience      time.Duration
	prompt        bool
	gzips         sync.Pool // of *gzip.Writer

	// ctx ends when the server closes: watches end with it.
	ctx    context.Context
	cancel context.CancelFunc
	// work is what Close waits for; mu orders its beginnings and Close.
	mu   sync.Mutex
	work sync.WaitGroup
}

// New makes a server over a loaded store.
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
	s.admission = admission.NewChain(reader{s}, o.Plugins...)
	s.lifecycle = slices.ContainsFunc(o.Plugins, func(p admission.Plugin) bool { return p == admission.NamespaceLifecycle{} })
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

// Close ends all watches and the server's own goroutines, and waits for them. Other requests in flight are the caller's
// to drain.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	for _, e := range s.expiries {
		e.stop()
	}
	s.work.Wait()
}

// begin counts in what Close has to wait for, until work.Done; not any more once the server closes.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// Closing is closed when Close begins, to end what listens for as long as the server lives.
func (s *Server) Closing() <-chan struct{} { return s.ctx.Done() }

// Handler is the server as an http.Handler.
func (s *Server) Handler() http.Handler {
	return (*handler)(s)
}
