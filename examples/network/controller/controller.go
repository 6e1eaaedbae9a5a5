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
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/workqueue"
)

const (
	// DefaultResync is how often everything is compared although nothing seems to have happened.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is how many networks of a group are reconciled at once.
	DefaultWorkers = 4
)

// retries is how long a network waits that could not be made or removed: longer each time, so that what does not answer is left in
// peace, yet not long after it does again.
func retries() workqueue.Limiter[loop.Request] {
	return workqueue.MaxOf(
		workqueue.NewExponential[loop.Request](50*time.Millisecond, time.Minute),
		workqueue.NewBucket[loop.Request](10, 100),
	)
}

// Options are what a controller works with. Config and Provider are required.
type Options struct {
	// Config reaches the server.
	Config *rest.Config
	// Source is where the informers list and watch; nil is Config's connection.
	Source   client.Source
	Provider provider.Provider
	// Resync is DefaultResync when it is 0.
	Resync time.Duration
	// Workers is how many networks of a group are reconciled at once; 0 means DefaultWorkers.
	Workers int
	// Journal, Forward and TracerProvider are those of the controllers' manager.
	Journal        *why.Journal
	Forward        string
	TracerProvider trace.TracerProvider
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Controller makes real networks match the Networks of both groups. It needs none of their definitions to be there: each
// group begins when it is served.
type Controller struct {
	manager  *loop.Manager
	provider provider.Provider
	groups   []*group
	sweeper  *sweeper
	log      *slog.Logger
}

// New makes a controller; Run runs it.
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
		Source: o.Source, Resync: o.Resync, Journal: o.Journal, Forward: o.Forward, TracerProvider: o.TracerProvider, Log: o.Log,
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
		g := newGroup(m, o, gv.WithResource(v1.Resource), events, c.sweeper.soon)
		c.groups = append(c.groups, g)
		c.sweeper.groups = append(c.sweeper.groups, g.list)
	}
	c.sweeper.add(m)
	return c, nil
}

// Run runs the controller until ctx ends, and returns when every goroutine that it started has ended. It must be called
// once at most.
func (c *Controller) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { c.manager.Run(ctx) })
	parts.Go(func() { c.watch(ctx) })
	parts.Wait()
}

// watch has what the provider sees looked after, and begins again when the provider cannot see any longer.
func (c *Controller) watch(ctx context.Context) {
	const first, most = time.Second, time.Minute
	for wait := first; ; wait = min(2*wait, most) {
		began := time.Now()
		err := c.provider.Watch(ctx, c.moved)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > most {
			wait = first // it could see for a while
		}
		c.log.Error("what happens to networks behind the controller's back is not seen: trying again", "error", err, "after", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// moved has a network looked at, or all of them. One that no object declares is swept.
func (c *Controller) moved(uid types.UID) {
	known := false
	for _, g := range c.groups {
		known = g.look(uid) || known
	}
	if !known {
		c.sweeper.soon()
	}
}
