// Package controller runs control loops: it takes the keys of what changed from informers, queues each once, and hands
// them to a Reconciler until the world is as declared.
//
//	m, err := controller.NewManager(config, controller.ManagerOptions{})
//	networks := informer.For[*v1.Network](m.Informers(), networksResource)
//	m.Add(controller.Options{
//		Name:       "network",
//		Reconciler: &reconciler{networks.Lister(), m.Client()},
//		Sources:    []controller.Source{controller.For(networks)},
//	})
//	err = m.Run(ctx)
//
// Controllers act on level, not edge: a key says that something about an object may have changed, and what to do follows
// from what is read then. Any event may come twice, late or never, and the result is the same.
//
// The package knows no kind and no server; controllers in package controllers and in examples are its users.
package controller

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/workqueue"
)

// Request names the object to reconcile.
type Request = informer.Key

// Result is what to do after a reconciliation that did not fail. The zero value is nothing until something changes.
type Result struct {
	// RequeueAfter is when to reconcile again even if nothing changes; 0 for not at all.
	RequeueAfter time.Duration
}

// Reconciler makes the world as one object declares it. It is called by many workers at a time, but never for one
// object twice at a time. The object may be gone by the time that its request comes. An error, or a panic, is logged and
// the request tried again, later each time, unless it is Terminal. ctx ends when the controller stops, or the request's time
// is over (Options.Timeout).
type Reconciler interface {
	Reconcile(ctx context.Context, request Request) (Result, error)
}

// Func is a function as a Reconciler.
type Func func(ctx context.Context, request Request) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, request Request) (Result, error) { return f(ctx, request) }

// Options say what a controller is.
type Options struct {
	// Name is for logs and metrics.
	Name       string
	Reconciler Reconciler
	// Sources are where requests come from. The workers begin when all of them have told of what there is.
	Sources []Source
	// Workers is how many requests are worked on at a time; 0 means 1.
	Workers int
	// Limiter delays requests that failed; nil means workqueue.DefaultLimiter.
	Limiter workqueue.Limiter[Request]
	// Timeout is how long one reconcile may take: its context ends then. 0 is no limit. A reconcile that does not return soon
	// after, or within ten minutes where there is no limit, is reported, and another worker takes its worker's place.
	Timeout time.Duration
	// StopTimeout is how long Run waits for reconciles that are under way when it is stopped; 0 means 30 s.
	StopTimeout time.Duration
	// Caches are those that the reconciler reads. A request is reconciled when they show what the controller has written, or after
	// five seconds: so a reconciler does not do twice what it cannot see yet. Writes are those that are made with Reconcile's
	// context, by package client or through client.Observed; informer.Factory.Shows says which are not waited for. A Manager's
	// informers are the default. With several servers, each factory must know its own (informer.FactoryOptions.Server).
	Caches []*informer.Factory
	// Metrics count what the controller and its queue do; nil counts nothing.
	Metrics *Metrics
	// Journal keeps why the controller did what it did; nil keeps it for the controller alone.
	Journal *why.Journal
	// TracerProvider makes a span for each run; nil traces nothing.
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Controller is one control loop.
type Controller struct {
	options Options
	log     *slog.Logger
	queue   *workqueue.Queue[Request]
	in      *inbox // into queue

	crew     *crew
	written  *written
	measured *measured

	reconciled schema.GroupResource // empty when no source is For it
	journal    *why.Journal
	tracer     trace.Tracer // nil when nobody traces

	ready chan struct{}
}

// New makes a controller. Somebody must Run it, and the informers that it watches; a Manager does both.
func New(options Options) *Controller {
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
	c.crew = newCrew(c)
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

// Ready is closed when the controller's caches are filled and its workers run.
func (c *Controller) Ready() <-chan struct{} { return c.ready }
