// Package controller runs control loops. A controller receives changes from informers, enqueues the key of each
// object to reconcile, and calls a Reconciler for it until the actual state matches the declared one.
//
//	m, err := controller.NewManager(config, controller.ManagerOptions{})
//	networks := controller.ObjectsOf[*v1.Network](m, networksResource)
//	err = m.Build("network").For(networks).Complete(&reconciler{networks})
//	err = m.Run(ctx)
//
// Controllers are level-triggered: a request means that something about an object may have changed, and the
// reconciler decides from the current state what to do. Requests may be duplicated, merged or late.
//
// # Two ways to build a controller
//
// Use a Manager and its builder, as above, unless you have a reason not to. The Manager owns the client, the informers,
// leader election, health checks, metrics and event recorders, and runs and stops them in order. ObjectsOf returns a
// typed handle that reads the cache and writes to the server; Build takes such handles in For, Owns and, by way of Map,
// Watches.
//
// The functions For, Owns, Watches and WatchesLater are the layer below. They make a Source of one informer, and New
// makes a controller of Sources. Use them with New if your program already runs its own informers and needs no manager;
// it then runs the informers and the controller itself. Use them with a Manager, by Builder.Watches or Manager.Add, for
// informers that ObjectsOf does not provide, such as those with a selector or from Manager.NewInformers.
//
// The package does not depend on any kind or server.
package controller

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/workqueue"
)

// Request is the key of an object to reconcile: its namespace, which is empty for a cluster-scoped object, and its
// name.
type Request = informer.Key

// Result determines when the controller reconciles again after a successful reconciliation. With the zero value, it
// waits for the next change.
type Result struct {
	// RequeueAfter is the time after which to reconcile again even if nothing changes; 0 means never.
	RequeueAfter time.Duration
}

// Reconciler brings the actual state closer to the state that one object declares. With several workers
// (Options.Workers), Reconcile is called concurrently for different objects but never for the same one. The object may
// no longer exist. If Reconcile returns an error or panics, the controller logs that and retries with increasing
// delays, unless the error is Terminal. ctx ends when the controller stops or Options.Timeout has passed; Reconcile
// must then return.
type Reconciler interface {
	// Reconcile handles one request. The controller ignores the Result if the error is not nil.
	Reconcile(ctx context.Context, request Request) (Result, error)
}

// Func implements Reconciler with a function.
type Func func(ctx context.Context, request Request) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, request Request) (Result, error) { return f(ctx, request) }

// Options configures a controller. Name, Reconciler and Sources are required for New and Manager.Add.
type Options struct {
	// Name identifies the controller in logs, metrics and the journal. Controllers with the same Metrics need distinct
	// names.
	Name string
	// Reconciler handles the requests.
	Reconciler Reconciler
	// Sources produce the requests. The workers start when all sources have enqueued their initial objects.
	Sources []Source
	// Workers is the maximum number of concurrent reconciliations; 0 means 1.
	Workers int
	// Limiter delays the retries of requests that failed; nil means workqueue.DefaultLimiter.
	Limiter workqueue.Limiter[Request]
	// Timeout bounds one reconciliation: its context ends after that time. 0 means no bound. If a reconciliation does
	// not return within ten seconds after its timeout, or within ten minutes if there is none, the controller reports
	// it as stuck and starts another worker instead.
	Timeout time.Duration
	// StopTimeout bounds the time that Run waits for running reconciliations after its context ended; 0 means 30 s.
	StopTimeout time.Duration
	// Caches are the factories whose informers the reconciler reads. Before a request is reconciled, the
	// controller waits, at most five seconds, until these caches reflect the controller's own writes, so that a
	// reconciler does not repeat a write that its cache does not reflect yet. The controller knows of writes that are
	// made with Reconcile's context, by package client or with a config from client.Observed;
	// informer.Factory.WaitForWrite documents the exceptions. The default is the manager's informers, or none without
	// a manager. With several servers, each factory must name its own (informer.FactoryOptions.Server).
	Caches []*informer.Factory
	// Metrics counts and times the work of the controller and its queue; nil disables that.
	Metrics *Metrics
	// Journal records the runs of the controller and their causes; nil means the manager's, or a private one.
	Journal *why.Journal
	// TracerProvider traces each run as a span; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Log receives failures of reconciliations; nil means the manager's, or slog.Default.
	Log *slog.Logger
}

// Controller is one control loop. New and Manager.Add return one. Its methods are safe for concurrent use.
type Controller struct {
	options Options
	log     *slog.Logger
	queue   *workqueue.Queue[Request]
	in      *inbox // adds to queue

	pool     *pool
	written  *written
	measured *measured

	reconciled schema.GroupResource // empty if no source is made by For
	journal    *why.Journal
	tracer     trace.Tracer // nil if tracing is disabled

	ready chan struct{}
}

// New returns a controller without a manager. The caller must run the informers of its sources, and then Run of the
// controller. Most programs use Manager.Build instead; see the package documentation.
func New(options Options) *Controller {
	options.Sources = expand(options.Sources)
	c := &Controller{
		options: options,
		log:     options.Log,
		queue:   workqueue.New(options.Limiter),
		ready:   make(chan struct{}),
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.log = c.log.With("controller", options.Name)
	if options.Metrics != nil {
		c.queue.Measure(options.Metrics.queues, options.Name)
	}
	c.in = newInbox(c.queue)
	c.pool = newPool(c)
	c.written = &written{caches: options.Caches, log: c.log, writes: map[target]pendingWrite{}}
	c.measured = options.Metrics.measure(options.Name, max(options.Workers, 1))
	c.journal, c.tracer = options.Journal, tracer(options.TracerProvider)
	if c.journal == nil {
		c.journal = why.New(why.Options{Log: c.log})
	}
	for _, s := range options.Sources {
		if primary, ok := s.(interface{ reconciled() schema.GroupResource }); ok && c.reconciled.Empty() {
			c.reconciled = primary.reconciled()
		}
	}
	return c
}

// Ready returns a channel that is closed when the controller's sources have enqueued their initial objects and its
// workers run. It stays open if Run returns before that.
func (c *Controller) Ready() <-chan struct{} { return c.ready }
