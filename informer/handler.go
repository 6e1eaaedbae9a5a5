package informer

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/bowline-dev/bowline/client"
)

// Handler is told what happens to the objects in a cache, after the cache has it. Calls come one at a time, in order.
// What is passed is shared: copy before changing.
//
// A handler that takes its time delays nobody but itself. Of each object that it is behind with it is told the newest
// state, in one call: an update from the state that it knows, or an addition; one that came and went meanwhile it never
// hears of, unless it is Thorough. So what waits for it is bounded by how many objects there are. A handler that panics
// misses that call and no other; the panic is logged. So is one that calls runtime.Goexit, as testing.T.FailNow does.
type Handler[T client.Object] interface {
	// OnAdd tells of an object that is new to the handler. isInInitialList is true for those that were there before the
	// informer, or the handler, began.
	OnAdd(obj T, isInInitialList bool)
	// OnUpdate tells of a change. A resync passes the same object twice: nothing has changed.
	OnUpdate(old, new T)
	// OnDelete tells of a deletion with the last state. finalStateUnknown says that the deletion was not seen, so that
	// obj is only the last state that the informer knew.
	OnDelete(obj T, finalStateUnknown bool)
}

// Thorough is a Handler that hears of objects too that came and went while it was behind, or could never be read, as who waits
// for the deletion of what it has made itself must.
//
// What waits stays bounded all the same: of the first 1,024 such objects the last state is kept, and of further ones, as of a
// name that comes and goes again and again, the name, UID and revision alone: some 600 bytes each, however large they were.
// At 131,072 an end is made. The handler does not hear of those that come then, and the log says so: what waits for them must be
// begun anew.
type Thorough[T client.Object] interface {
	Handler[T]
	// OnVanish tells of an object that the handler never heard of and that is gone again, with its last state.
	// finalStateUnknown says that this is not kept, or cannot be read: obj has its name, UID and revision, and nothing to rely
	// on besides.
	OnVanish(obj T, finalStateUnknown bool)
}

// Merging is a Handler that is told which updates may stand for several. Who passes over an update that makes no difference must
// know: a state between the two may have been read from the cache and acted on, or have been written in answer to the first.
type Merging[T client.Object] interface {
	Handler[T]
	// OnMerged is OnUpdate where there may have been states between old and new.
	OnMerged(old, new T)
}

// HandlerFuncs is a Handler of functions; nil ones do nothing.
type HandlerFuncs[T client.Object] struct {
	Add    func(obj T, isInInitialList bool)
	Update func(old, new T)
	Delete func(obj T, finalStateUnknown bool)
}

// OnAdd calls Add.
func (h HandlerFuncs[T]) OnAdd(obj T, isInInitialList bool) {
	if h.Add != nil {
		h.Add(obj, isInInitialList)
	}
}

// OnUpdate calls Update.
func (h HandlerFuncs[T]) OnUpdate(old, new T) {
	if h.Update != nil {
		h.Update(old, new)
	}
}

// OnDelete calls Delete.
func (h HandlerFuncs[T]) OnDelete(obj T, finalStateUnknown bool) {
	if h.Delete != nil {
		h.Delete(obj, finalStateUnknown)
	}
}

// String is the name of the first function, for logs.
func (h HandlerFuncs[T]) String() string {
	for _, f := range []any{h.Add, h.Update, h.Delete} {
		if v := reflect.ValueOf(f); !v.IsNil() {
			return runtime.FuncForPC(v.Pointer()).Name()
		}
	}
	return fmt.Sprintf("%T", h)
}

// nameOf is what a handler is called in logs: what it calls itself, or its type.
func nameOf(handler any) string {
	if named, ok := handler.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", handler)
}

// Registration is a handler's place at an informer.
type Registration struct {
	synced         <-chan struct{}
	remove, resync func()
}

// Synced is closed when the handler has been told of all that there was when it came. It stays open when the handler is
// removed before.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Remove has the handler told of nothing more. It does not wait: a call that is under way goes on, be it the one that
// Remove is called from, but none begins any more. Removing again does nothing.
func (r *Registration) Remove() { r.remove() }

// Resync passes every cached object to the handler again, as an update that changes nothing.
func (r *Registration) Resync() { r.resync() }
