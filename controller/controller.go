// Package controller runs control loops. A controller receives changes from informers, queues the key of each
// object to reconcile once, and calls a Reconciler for it until the actual state matches the declared one.
//
//	m, err := controller.NewManager(config, controller.ManagerOptions{})
//	networks := controller.ObjectsOf[*v1.Network](m, networksResource)
//	err = m.Build("network").For(networks).Complete(&reconciler{networks})
//	err = m.Run(ctx)
//
// Controllers are level-triggered: a request means that something about an object may have changed, and the
// reconciler decides from the current state what to do. Requests may be duplicated, merged or late.
//
// The package depends on no particular kind or server.
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

// Request is the key of an object to reconcile.
type Request = informer.Key

// Result tells the controller what to do after a successful reconciliation. The zero value waits for the next
// change.
type Result struct {
	// RequeueAfter is when to reconcile again even if nothing changes; 0 means never.
	RequeueAfter time.Duration
}

// Reconciler brings the actual state closer to what one object declares. Reconcile is called concurrently for
// different objects but never for the same one; the object may no longer exist. If Reconcile returns an error
// or panics, the controller logs that and retries with increasing delays, unless the error is Terminal. ctx
// ends when the controller stops or Options.Timeout has passed.
type Reconciler interface {
	// Reconcile handles one request. The Result may ask for another call later; it is ignored after an error.
	Reconcile(ctx context.Context, request Request) (Result, error)
}

// Func is a function that implements Reconciler.
type Func func(ctx context.Context, request Request) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, request Request) (Result, error) { return f(ctx, request) }

// Options configure a controller.
type Options struct {
	// Name identifies the controller in logs and metrics.
	Name       string
	Reconciler Reconciler
	// Sources produce the requests. The workers start when all sources have delivered their initial objects.
	Sources []Source
	// Workers is the number of concurrent reconciliations; 0 means 1.
	Workers int
	// Limiter delays requests that failed; nil means workqueue.DefaultLimiter.
	Limiter workqueue.Limiter[Request]
	// Timeout bounds one reconciliation: its context ends then. 0 means no bound. A reconciliation that does
	// not return within ten seconds after its timeout, or within ten minutes if there is none, is reported as
	// stuck, and another worker replaces its own.
	Timeout time.Duration
	// StopTimeout is how long Run waits for running reconciliations when it is stopped; 0 means 30 s.
	StopTimeout time.Duration
	// Caches are the factories whose informers the reconciler reads. Before a request is reconciled, the
	// controller waits, at most five seconds, until they show the controller's own writes, so that a
	// reconciler does not repeat a write that its cache does not show yet. Writes count if they are made with
	// Reconcile's context, by package client or through client.Observed; informer.Factory.WaitForWrite documents the
	// exceptions. The default is the manager's informers. With several servers, each factory must name its
	// own (informer.FactoryOptions.Server).
	Caches []*informer.Factory
	// Metrics record what the controller and its queue do; nil records nothing.
	Metrics *Metrics
	// Journal records the runs of the controller and their causes; nil means a private one.
	Journal *why.Journal
	// TracerProvider traces each run as a span; nil disables tracing.
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Controller is one control loop. Its methods are safe for concurrent use.
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

// New returns a controller without a manager. The caller must run both the controller and its informers. Most
// programs use Manager.Build instead.
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
	c.written = &written{caches: options.Caches, log: c.log, writes: map[place]awaited{}}
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

// Ready returns a channel that is closed when the controller's caches are filled and its workers run. It stays open
// if Run ends before that.
func (c *Controller) Ready() <-chan struct{} { return c.ready }
