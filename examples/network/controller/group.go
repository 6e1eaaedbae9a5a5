package controller

import (
	"context"
	"reflect"
	"slices"
	"time"

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
	networks.AddHandler(informer.HandlerFuncs[*v1.Network]{
		Delete: func(n *v1.Network, _ bool) {
			g.said.Delete(n.UID)
			vanished()
		},
	})
	m.Add(loop.Options{
		Name:       resource.GroupResource().String(),
		Reconciler: g,
		Sources:    []loop.Source{loop.For(networks, loop.Or(loop.Resynced, loop.If(g.concerns))), g.moved},
		Workers:    o.Workers,
		Limiter:    retries(),
	})
	return g
}

// statusDelay is how long a status stays that somebody else wrote. Two controllers that both think it theirs then write slowly.
const statusDelay = 10 * time.Second

// concerns says whether an object has to be compared with its real network. The controller's own writes are no reason: a look at
// the real network costs more than they do. One whose status somebody else wrote it has looked at later.
func (g *group) concerns(old, new *v1.Network) bool {
	if new == nil {
		return false
	}
	said, spoken := g.said.Load(new.UID)
	asSaid := spoken && reflect.DeepEqual(statement(new.Status), said)
	held := slices.Contains(new.Finalizers, finalizer)
	switch {
	case asSaid && held && new.DeletionTimestamp == nil && new.Status.ObservedGeneration == new.Generation:
		return false
	case old == nil || old.UID != new.UID:
		return true
	case spoken && !asSaid && !reflect.DeepEqual(statement(new.Status), statement(old.Status)):
		g.moved.AddAfter(informer.KeyOf(new), statusDelay)
	}
	released := slices.Contains(old.Finalizers, finalizer) && !held
	return old.Spec != new.Spec || new.DeletionTimestamp != nil || released
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
