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
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller/why"
	"github.com/bowline-dev/bowline/informer"
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
// the request tried again, later each time. ctx ends when the controller stops.
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
	// Metrics count what the controller's queue does; nil counts nothing.
	Metrics *workqueue.Metrics
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

	reconciled schema.GroupResource // empty when no source is For it
	journal    *why.Journal
	tracer     trace.Tracer // nil when nobody traces

	synced []<-chan struct{}
	ready  chan struct{}
}

// New makes a controller, and adds its handlers to the informers that it watches. Somebody must Run it, and the
// informers; a Manager does both.
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
		c.queue.Measure(options.Metrics, options.Name)
	}
	c.in = newInbox(c.queue)
	c.journal, c.tracer = options.Journal, tracer(options.TracerProvider)
	if c.journal == nil {
		c.journal = why.New(why.Options{Log: c.log})
	}
	for _, s := range options.Sources {
		if primary, ok := s.(interface{ reconciled() schema.GroupResource }); ok && c.reconciled.Empty() {
			c.reconciled = primary.reconciled()
		}
		c.synced = append(c.synced, s.feed(c.in))
	}
	return c
}

// Ready is closed when the controller's caches are filled and its workers run.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// Run works until ctx ends, and returns when all workers have. It must be called once at most.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	for _, synced := range c.synced {
		select {
		case <-synced:
		case <-ctx.Done():
			return
		}
	}
	var workers sync.WaitGroup
	for range max(c.options.Workers, 1) {
		workers.Go(func() { c.work(ctx) })
	}
	close(c.ready)
	workers.Wait()
}

// work takes requests until ctx ends.
func (c *Controller) work(ctx context.Context) {
	for {
		request, ok := c.queue.Get(ctx)
		if !ok {
			return
		}
		c.handle(ctx, request)
	}
}

// handle reconciles one request, and sees to when it comes again.
func (c *Controller) handle(ctx context.Context, request Request) {
	defer c.queue.Done(request)
	ctx, run := c.begin(ctx, request)
	result, err := c.reconcile(ctx, request)
	c.end(run, result, err)
	switch {
	case err != nil:
		c.report(ctx, request, err)
		c.queue.AddRateLimited(request)
	case result.RequeueAfter > 0:
		c.queue.Forget(request)
		c.queue.AddAfter(request, result.RequeueAfter)
	default:
		c.queue.Forget(request)
	}
}

// reconcile calls the reconciler and makes an error of a panic.
func (c *Controller) reconcile(ctx context.Context, request Request) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the reconciler panicked: %v", p)
			c.log.Error("panic while reconciling", "object", request.String(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	return c.options.Reconciler.Reconcile(ctx, request)
}

// report logs a failure, unless it only means that the controller stops or that somebody else was quicker.
func (c *Controller) report(ctx context.Context, request Request, err error) {
	switch {
	case ctx.Err() != nil:
	case apierrors.IsConflict(err):
		c.log.Debug("the object was changed meanwhile: reconciling again", "object", request.String(), "error", err)
	default:
		c.log.Warn("cannot reconcile: trying again", "object", request.String(), "error", err, "failures", c.queue.NumRequeues(request)+1)
	}
}
