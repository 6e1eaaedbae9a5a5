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

// registration adapts a handler of client-go. It is one of our handlers, and the registration that AddEventHandler
// returns to the caller.
type registration[T client.Object] struct {
	to    cache.ResourceEventHandler
	of    *sharedInformer[T]
	log   klog.Logger
	added *informer.Registration
	// resync is the interval at which the handler receives every object again; 0 means never.
	resync time.Duration

	mu            sync.Mutex
	busy, removed bool
	drained       chan struct{} // closed when the handler was removed and no call of it is running
}

var (
	_ informer.VanishHandler[client.Object]  = &registration[client.Object]{}
	_ cache.ResourceEventHandlerRegistration = &registration[client.Object]{}
	_ cache.DoneChecker                      = &registration[client.Object]{}
)

// call calls the handler unless it was removed. Calls are sequential. A panic is passed to client-go's panic handlers,
// and then to the informer, which continues.
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
		close(r.drained)
	}
}

// OnAdd implements informer.Handler.
func (r *registration[T]) OnAdd(obj T, isInInitialList bool) {
	r.call(func() { r.to.OnAdd(obj, isInInitialList) })
}

// OnUpdate implements informer.Handler.
func (r *registration[T]) OnUpdate(old, new T) { r.call(func() { r.to.OnUpdate(old, new) }) }

// OnDelete implements informer.Handler. A deletion that the watch missed is passed as client-go's tombstone.
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

// end stops calls of the handler. It does not wait for a running call, which may be its caller.
func (r *registration[T]) end() {
	r.added.Remove()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return
	}
	r.removed = true
	if !r.busy {
		close(r.drained)
	}
}

// HasSynced reports whether the handler was notified of all objects of the first list.
func (r *registration[T]) HasSynced() bool { return cache.IsDone(r) }

// HasSyncedChecker returns HasSynced as a channel to wait for.
func (r *registration[T]) HasSyncedChecker() cache.DoneChecker { return r }

// Name implements cache.DoneChecker.
func (r *registration[T]) Name() string { return r.of.Name() + " + event handler " + r.String() }

// String returns the handler's name for logs.
func (r *registration[T]) String() string { return nameOf(r.to) }

// Done implements cache.DoneChecker.
func (r *registration[T]) Done() <-chan struct{} { return r.added.Synced() }

// ShutdownChan returns a channel that is closed after the last call of a removed handler, for
// cache.ShutDownEventHandler.
func (r *registration[T]) ShutdownChan() <-chan struct{} { return r.drained }
