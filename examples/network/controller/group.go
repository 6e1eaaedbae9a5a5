package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/informer"
)

// byUID is the index that finds the object of a real network.
const byUID = "uid"

// group is the control loop of one API group. Each group has its own, because a loop begins when what it watches is
// served.
type group struct {
	*reconciler
	cache *informer.Indexer[*v1.Network]
	// moved asks for objects whose real network may have changed.
	moved *loop.Trigger
}

// newGroup adds the loop of a resource to a manager. vanished is called when an object has gone.
func newGroup(m *loop.Manager, o Options, resource schema.GroupVersionResource, events *loop.Recorder, vanished func()) *group {
	networks := informer.For[*v1.Network](m.Informers(), resource)
	networks.Indexer().AddIndex(byUID, func(n *v1.Network) []string { return []string{string(n.UID)} })
	networks.AddHandler(informer.HandlerFuncs[*v1.Network]{Delete: func(*v1.Network, bool) { vanished() }})
	g := &group{
		cache: networks.Indexer(),
		moved: &loop.Trigger{},
		reconciler: &reconciler{
			resource: resource,
			networks: client.Of[*v1.Network](m.Client(), resource),
			rest:     m.Client().REST(),
			provider: o.Provider,
			events:   events,
			log:      o.Log,
		},
	}
	m.Add(loop.Options{
		Name:       resource.GroupResource().String(),
		Reconciler: g,
		Sources:    []loop.Source{loop.For(networks, loop.Or(loop.Resynced, loop.If(concerns))), g.moved},
		Workers:    o.Workers,
		Limiter:    retries(),
	})
	return g
}

// concerns says whether an object changed in what is compared with its real network. The controller's own writes do not: a look
// at the real network costs more than they do.
func concerns(old, new *v1.Network) bool {
	if old == nil || new == nil || old.UID != new.UID {
		return true
	}
	released := slices.Contains(old.Finalizers, finalizer) && !slices.Contains(new.Finalizers, finalizer)
	forgotten := len(new.Status.Conditions) < len(old.Status.Conditions)
	return old.Spec != new.Spec || new.DeletionTimestamp != nil || released || forgotten
}

// Reconcile implements controller.Reconciler on an object as the cache has it now. One that is gone left its real network
// to its finalizer or, without one, to the sweep.
func (g *group) Reconcile(ctx context.Context, request loop.Request) (loop.Result, error) {
	n, ok := g.cache.Get(request)
	if !ok {
		return loop.Result{}, nil
	}
	return loop.Result{}, g.reconcile(ctx, n)
}

// look has the object of a real network reconciled, or all objects for an empty uid. It says whether there is such an
// object.
func (g *group) look(uid types.UID) (known bool) {
	for _, n := range g.of(uid) {
		g.moved.Add(informer.KeyOf(n))
		known = uid != ""
	}
	return known
}

// of is the object of a real network, or all objects for an empty uid.
func (g *group) of(uid types.UID) []*v1.Network {
	if uid == "" {
		return g.cache.List()
	}
	found, err := g.cache.ByIndex(byUID, string(uid))
	if err != nil {
		panic(err) // newGroup added the index
	}
	return found
}
