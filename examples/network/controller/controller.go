package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/workqueue"
)

const (
	// DefaultResync is how often everything is compared although nothing seems to have happened.
	DefaultResync = 10 * time.Minute
	// workers is how many networks of a group are reconciled at once.
	workers = 4
	// sweepDelay is how long a sweep waits for the other deletions of a burst.
	sweepDelay = time.Second
)

// Options are what a controller works with. Client and Provider are required.
type Options struct {
	Client *client.Client
	// Source is where the informers list and watch; nil is the client's connection.
	Source   client.Source
	Provider provider.Provider
	// Resync is DefaultResync when it is 0.
	Resync time.Duration
	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Controller makes real networks match the Networks of both groups. It needs none of their definitions to be there: each
// group begins when it is served.
type Controller struct {
	provider provider.Provider
	resync   time.Duration
	log      *slog.Logger
	events   *loop.Recorder
	groups   []*group
	sweeper  *sweeper
	sweeps   *workqueue.Queue[struct{}]
}

// New makes a controller; Run runs it.
func New(o Options) *Controller {
	if o.Source == nil {
		o.Source = client.NewSource(o.Client)
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Controller{
		provider: o.Provider,
		resync:   o.Resync,
		log:      o.Log,
		events:   loop.NewRecorder(o.Client, "network-controller", o.Log),
		sweeper:  &sweeper{provider: o.Provider, log: o.Log},
		sweeps:   workqueue.New[struct{}](nil),
	}
	for _, gv := range v1.GroupVersions() {
		g := newGroup(o, gv.WithResource(v1.Resource), c.events, c.sweepSoon)
		c.groups = append(c.groups, g)
		c.sweeper.groups = append(c.sweeper.groups, g.list)
	}
	return c
}

// Run runs the controller until ctx ends, and returns when every goroutine that it started has ended. It must be called
// once at most.
func (c *Controller) Run(ctx context.Context) {
	var parts sync.WaitGroup
	for _, g := range c.groups {
		parts.Go(func() { g.run(ctx) })
	}
	parts.Go(func() { c.events.Run(ctx) })
	parts.Go(func() { c.watch(ctx) })
	parts.Go(func() { c.sweepRegularly(ctx) })
	parts.Wait()
}

func (c *Controller) sweepSoon() { c.sweeps.AddAfter(struct{}{}, sweepDelay) }

// sweepRegularly sweeps at the start, when it is asked to, and as often as the informers resync.
func (c *Controller) sweepRegularly(ctx context.Context) {
	defer c.sweeps.ShutDown()
	c.sweeps.Add(struct{}{})
	for {
		item, ok := c.sweeps.Get(ctx)
		if !ok {
			return
		}
		if err := c.sweeper.sweep(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("networks whose object is gone cannot be swept: trying again", "error", err)
			c.sweeps.AddRateLimited(item)
		} else {
			c.sweeps.Forget(item)
			c.sweeps.AddAfter(item, c.resync)
			for _, g := range c.groups {
				g.forgetStatusInMain()
			}
		}
		c.sweeps.Done(item)
	}
}

// watch has what the provider sees looked after, and begins again when the provider cannot see any longer.
func (c *Controller) watch(ctx context.Context) {
	const first, most = time.Second, time.Minute
	for wait := first; ; wait = min(2*wait, most) {
		err := c.provider.Watch(ctx, c.moved)
		if ctx.Err() != nil {
			return
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
		c.sweepSoon()
	}
}
