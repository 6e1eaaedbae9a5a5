package controller

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	loop "github.com/bowline-dev/bowline/controller"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/informer"
)

// byUID is the name of the index that finds an object by its UID.
const byUID = "uid"

// group is the control loop of one API group. Each group has its own loop, because a loop starts only when
// its resource is served.
type group struct {
	*reconciler
	cache *informer.Indexer[*v1.Network]
	// requests enqueues objects whose real network may have changed.
	requests *loop.Trigger
}

// newGroup adds the loop of a resource to a manager. It calls vanished when an object was removed from the cache.
func newGroup(m *loop.Manager, o Options, resource schema.GroupVersionResource, events *loop.Recorder,
	vanished func()) (*group, error) {
	objects := loop.ObjectsOf[*v1.Network](m, resource)
	networks := objects.Informers()[0] // of all namespaces
	networks.Indexer().AddIndex(byUID, func(n *v1.Network) []string { return []string{string(n.UID)} })
	g := &group{
		cache:    networks.Indexer(),
		requests: &loop.Trigger{},
		reconciler: &reconciler{
			resource: resource,
			networks: objects.Client(),
			rest:     m.Client().REST(),
			provider: o.Provider,
			events:   events,
			log:      o.Log,
		},
	}
	networks.AddHandler(informer.HandlerFuncs[*v1.Network]{
		Delete: func(n *v1.Network, _ bool) {
			g.written.Delete(n.UID)
			vanished()
		},
	})
	err := m.Build(resource.GroupResource().String()).
		For(objects, loop.Or(loop.Resynced, loop.If(g.concerns))).Watches(g.requests).
		With(loop.Options{Workers: o.Workers, Limiter: retries()}).Complete(g)
	return g, err
}

// statusDelay is the delay before a foreign status write is overwritten. It limits the write rate if two
// controllers claim the same status.
const statusDelay = 10 * time.Second

// concerns reports whether a change of an object requires a comparison with its real network. The
// controller's own writes do not: reading the real network is more expensive than the write. If another
// client wrote the status, concerns schedules a reconcile after statusDelay.
func (g *group) concerns(old, new *v1.Network) bool {
	if new == nil {
		return false
	}
	written, hasWritten := g.written.Load(new.UID)
	unchanged := hasWritten && reflect.DeepEqual(ownedStatus(new.Status), written)
	held := slices.Contains(new.Finalizers, finalizer)
	switch {
	case unchanged && held && new.DeletionTimestamp == nil && new.Status.ObservedGeneration == new.Generation:
		return false
	case old == nil || old.UID != new.UID:
		return true
	case hasWritten && !unchanged && !reflect.DeepEqual(ownedStatus(new.Status), ownedStatus(old.Status)):
		g.requests.AddAfter(informer.KeyOf(new), statusDelay)
	}
	released := slices.Contains(old.Finalizers, finalizer) && !held
	return old.Spec != new.Spec || new.DeletionTimestamp != nil || released
}

// Reconcile implements controller.Reconciler for the cached object. The real network of a deleted object has
// been removed through its finalizer or, if it had none, will be removed by the sweep.
func (g *group) Reconcile(ctx context.Context, request loop.Request) (loop.Result, error) {
	n, ok := g.cache.Get(request)
	if !ok {
		return loop.Result{}, nil
	}
	return loop.Result{}, g.reconcile(ctx, n)
}

// requeue requests a reconcile of the object of a real network, or of all objects if uid is empty. It reports
// whether there is such an object.
func (g *group) requeue(uid types.UID) (known bool) {
	for _, n := range g.of(uid) {
		g.requests.Add(informer.KeyOf(n))
		known = uid != ""
	}
	return known
}

// of returns the object of a real network, or all objects if uid is empty.
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
