package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controller/why"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/workqueue"
)

const (
	// DefaultResync is the interval at which all networks are compared even without an event.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is the number of networks of a group that are reconciled concurrently.
	DefaultWorkers = 4
)

// retries returns the backoff for networks that could not be created or removed. The delay grows to a minute,
// so that an unavailable backend is not overloaded and recovery is noticed soon.
func retries() workqueue.Limiter[loop.Request] {
	return workqueue.MaxOf(
		workqueue.NewExponential[loop.Request](50*time.Millisecond, time.Minute),
		workqueue.NewBucket[loop.Request](10, 100),
	)
}

// Options configure a controller. Config and Provider are required.
type Options struct {
	// Config is the client configuration of the server.
	Config *rest.Config
	// Source is what the informers list and watch; nil means the connection of Config.
	Source   client.Source
	Provider provider.Provider
	// Resync is the interval at which all networks are compared; 0 means DefaultResync.
	Resync time.Duration
	// Workers is the number of networks of a group that are reconciled concurrently; 0 means DefaultWorkers.
	Workers int
	// Journal, Forward and TracerProvider are passed to the manager.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// Controller makes real networks match the Networks of both groups. Their definitions need not exist when it
// starts: the loop of each group starts as soon as the server serves it.
type Controller struct {
	manager  *loop.Manager
	provider provider.Provider
	groups   []*group
	sweeper  *sweeper
	log      *slog.Logger
}

// New returns a controller for Run.
func New(o Options) (*Controller, error) {
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	m, err := loop.NewManager(o.Config, loop.ManagerOptions{
		Source: o.Source, Resync: o.Resync, Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider,
		Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	c := &Controller{
		manager:  m,
		provider: o.Provider,
		sweeper:  &sweeper{provider: o.Provider, resync: o.Resync, log: o.Log},
		log:      o.Log,
	}
	events := m.Recorder("network-controller")
	for _, gv := range v1.GroupVersions() {
		g, err := newGroup(m, o, gv.WithResource(v1.Resource), events, c.sweeper.requestSweep)
		if err != nil {
			return nil, err
		}
		c.groups = append(c.groups, g)
		c.sweeper.groups = append(c.sweeper.groups, g.list)
	}
	c.sweeper.add(m)
	return c, nil
}

// Run runs the controller until ctx ends, and returns when every goroutine that it started has ended. It must
// be called at most once.
func (c *Controller) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { c.manager.Run(ctx) })
	parts.Go(func() { c.watch(ctx) })
	parts.Wait()
}

// watch reconciles the networks for which the provider reports changes. If the provider's watch fails, it
// retries with backoff.
func (c *Controller) watch(ctx context.Context) {
	const first, most = time.Second, time.Minute
	for wait := first; ; wait = min(2*wait, most) {
		began := time.Now()
		err := c.provider.Watch(ctx, c.networkChanged)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > most {
			wait = first // the watch had worked
		}
		c.log.Error("changes of real networks are not observed, retrying", "error", err,
			"after", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// networkChanged requeues the object of a real network, or all objects if uid is empty. A network without an object
// triggers a sweep.
func (c *Controller) networkChanged(uid types.UID) {
	known := false
	for _, g := range c.groups {
		known = g.requeue(uid) || known
	}
	if !known {
		c.sweeper.requestSweep()
	}
}
