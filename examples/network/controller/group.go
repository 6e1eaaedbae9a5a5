package controller

import (
	"context"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/workqueue"
)

// byUID is the index that finds the object of a real network.
const byUID = "uid"

// group is the loop of one API group: an informer tells what changed, a queue holds whose turn it is, and workers
// reconcile.
type group struct {
	*reconciler
	informer *informer.Informer[*v1.Network]
	queue    *workqueue.Queue[informer.Key]
	log      *slog.Logger
}

// newGroup makes the loop for a resource. vanished is called when an object has gone.
func newGroup(o Options, resource schema.GroupVersionResource, events *loop.Recorder, vanished func()) *group {
	g := &group{
		reconciler: newReconciler(o, resource, events),
		queue:      workqueue.New[informer.Key](nil),
		log:        o.Log.With("group", resource.Group),
		informer: informer.New(o.Source, resource, informer.Options[*v1.Network]{
			Indexes: map[string]informer.IndexFunc[*v1.Network]{byUID: func(n *v1.Network) []string { return []string{string(n.UID)} }},
			Resync:  o.Resync,
			Log:     o.Log,
		}),
	}
	enqueue := func(n *v1.Network) { g.queue.Add(informer.KeyOf(n)) }
	g.informer.AddHandler(informer.HandlerFuncs[*v1.Network]{
		Add:    func(n *v1.Network, _ bool) { enqueue(n) },
		Update: func(_, n *v1.Network) { enqueue(n) },
		Delete: func(*v1.Network, bool) { vanished() },
	})
	return g
}

func newReconciler(o Options, resource schema.GroupVersionResource, events *loop.Recorder) *reconciler {
	return &reconciler{
		events:   events,
		resource: resource,
		networks: client.Of[*v1.Network](o.Client, resource),
		rest:     o.Client.REST(),
		provider: o.Provider,
		log:      o.Log.With("group", resource.Group),
	}
}

// run runs the loop until ctx ends.
func (g *group) run(ctx context.Context) {
	defer g.queue.ShutDown()
	var parts sync.WaitGroup
	parts.Go(func() { g.informer.Run(ctx) })
	for range workers {
		parts.Go(func() { g.work(ctx) })
	}
	parts.Wait()
}

// work reconciles one object after the other until ctx ends.
func (g *group) work(ctx context.Context) {
	for {
		key, ok := g.queue.Get(ctx)
		if !ok {
			return
		}
		if err := g.reconcileKey(ctx, key); err != nil && ctx.Err() == nil {
			g.log.Error("reconcile failed: trying again", "network", key, "error", err)
			g.queue.AddRateLimited(key)
		} else {
			g.queue.Forget(key)
		}
		g.queue.Done(key)
	}
}

// reconcileKey reconciles an object as the cache has it now. One that is gone left its real network to its finalizer or,
// without one, to the sweep.
func (g *group) reconcileKey(ctx context.Context, key informer.Key) error {
	n, ok := g.informer.Indexer().Get(key)
	if !ok {
		return nil
	}
	return g.reconcile(ctx, n)
}

// look has the object of a real network reconciled, or all objects for an empty uid. It says whether there is such an
// object.
func (g *group) look(uid types.UID) bool {
	if uid == "" {
		for _, n := range g.informer.Indexer().List() {
			g.queue.Add(informer.KeyOf(n))
		}
		return false
	}
	found, err := g.informer.Indexer().ByIndex(byUID, string(uid))
	if err != nil {
		g.log.Error("the cache cannot be searched", "error", err)
	}
	for _, n := range found {
		g.queue.Add(informer.KeyOf(n))
	}
	return len(found) > 0
}
