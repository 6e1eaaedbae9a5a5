package clientgo

import (
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// registration is a handler of client-go's that was added: it is told what ours are told, and held by its user as the
// proof that it was added.
type registration[T client.Object] struct {
	to    cache.ResourceEventHandler
	of    *sharedInformer[T]
	log   klog.Logger
	added *informer.Registration
	// resync is how often the handler is passed every object again; 0 for never.
	resync time.Duration

	mu            sync.Mutex
	busy, removed bool
	gone          chan struct{} // closed when the handler was removed and no call of it is under way
}

var (
	_ informer.VanishHandler[client.Object]  = &registration[client.Object]{}
	_ cache.ResourceEventHandlerRegistration = &registration[client.Object]{}
	_ cache.DoneChecker                      = &registration[client.Object]{}
)

// call calls the handler unless it was removed. Calls come one at a time. Of a panic those are told who asked client-go
// to be told, and then the informer, which goes on.
func (r *registration[T]) call(f func()) {
	if !r.begin() {
		return
	}
	defer r.done()
	defer utilruntime.HandleCrashWithLogger(r.log)
	f()
}

func (r *registration[T]) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = !r.removed
	return r.busy
}

func (r *registration[T]) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if r.removed {
		close(r.gone)
	}
}

// OnAdd implements informer.Handler.
func (r *registration[T]) OnAdd(obj T, isInInitialList bool) {
	r.call(func() { r.to.OnAdd(obj, isInInitialList) })
}

// OnUpdate implements informer.Handler.
func (r *registration[T]) OnUpdate(old, new T) { r.call(func() { r.to.OnUpdate(old, new) }) }

// OnDelete implements informer.Handler. A deletion that was not seen comes as client-go's tombstone.
func (r *registration[T]) OnDelete(obj T, finalStateUnknown bool) {
	r.call(func() {
		if finalStateUnknown {
			r.to.OnDelete(cache.DeletedFinalStateUnknown{Key: keyOf(obj), Obj: obj})
			return
		}
		r.to.OnDelete(obj)
	})
}

// OnVanish implements informer.VanishHandler. It reports an object that was added and deleted between two
// notifications, because some handlers wait for the deletion of an object that they created, such as
// controller-runtime's client that reads its own writes. An object whose state was not retained is reported
// as a tombstone only, so that no handler mistakes its empty fields for values.
func (r *registration[T]) OnVanish(obj T, finalStateUnknown bool) {
	if !finalStateUnknown {
		r.call(func() { r.to.OnAdd(obj, false) })
	}
	r.OnDelete(obj, finalStateUnknown)
}

// end has the handler called no more. It does not wait for a call that is under way, which may be its caller.
func (r *registration[T]) end() {
	r.added.Remove()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return
	}
	r.removed = true
	if !r.busy {
		close(r.gone)
	}
}

// HasSynced says whether the handler has been told of all that there was at first.
func (r *registration[T]) HasSynced() bool { return cache.IsDone(r) }

// HasSyncedChecker is HasSynced to wait for.
func (r *registration[T]) HasSyncedChecker() cache.DoneChecker { return r }

// Name implements cache.DoneChecker.
func (r *registration[T]) Name() string { return r.of.Name() + " + event handler " + r.String() }

// String is what the handler is called in logs.
func (r *registration[T]) String() string { return nameOf(r.to) }

// Done implements cache.DoneChecker.
func (r *registration[T]) Done() <-chan struct{} { return r.added.Synced() }

// ShutdownChan is closed when the handler was removed and is called no more: cache.ShutDownEventHandler waits for it.
func (r *registration[T]) ShutdownChan() <-chan struct{} { return r.gone }
