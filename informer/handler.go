package informer

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/bowline-dev/bowline/client"
)

// Handler is notified of changes of the objects in a cache, after the cache was updated. The calls of one handler are
// sequential and, for each object, in the order of the changes. The objects are shared: copy them before changing them.
//
// A slow handler does not delay others. If a handler falls behind, updates are coalesced per object: it gets one
// call, with the state of its previous call and the newest one. It is not notified of objects that were created
// and deleted meanwhile, unless it is a VanishHandler. The backlog is thus bounded by the number of objects. If a
// handler panics, or calls runtime.Goexit as testing.T.FailNow does, the informer logs it and continues with the next
// call.
type Handler[T client.Object] interface {
	// OnAdd is called for an object that is new to the handler. isInInitialList is true for objects that
	// existed before the informer or the handler started.
	OnAdd(obj T, isInInitialList bool)
	// OnUpdate is called for a change, and for a resync, for which old and new are the same object.
	OnUpdate(old, new T)
	// OnDelete is called for a deletion with the last state. finalStateUnknown is true if the informer did not observe
	// the deletion, so that obj is only the last known state.
	OnDelete(obj T, finalStateUnknown bool)
}

// VanishHandler is a Handler that is also notified of the deletion of objects that it was never notified of, because
// they were created and deleted while it was behind or because they could never be decoded. Handlers that wait for the
// deletion of objects that they created need this.
//
// The backlog stays bounded: for the first 1,024 such objects the last state is retained, for further ones only name,
// UID and revision (some 600 bytes each). From 131,072 on the informer drops them and logs an error: a program that
// waits for these deletions must then be restarted.
type VanishHandler[T client.Object] interface {
	Handler[T]
	// OnVanish is called for a deleted object that the handler was never notified of. If finalStateUnknown is true,
	// only the name, namespace, UID and revision of obj are valid, because the last state was not retained or cannot be
	// decoded.
	OnVanish(obj T, finalStateUnknown bool)
}

// MergeHandler is a Handler that distinguishes merged updates. A handler that ignores updates without a relevant
// difference must not ignore merged ones: between two equal states, the cache may have held a different one that
// another goroutine read.
type MergeHandler[T client.Object] interface {
	Handler[T]
	// OnMerged is called instead of OnUpdate if the object may have had other states between old and new.
	OnMerged(old, new T)
}

// HandlerFuncs implements Handler with functions, of which any may be nil.
type HandlerFuncs[T client.Object] struct {
	Add    func(obj T, isInInitialList bool)   // see Handler.OnAdd
	Update func(old, new T)                    // see Handler.OnUpdate
	Delete func(obj T, finalStateUnknown bool) // see Handler.OnDelete
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

// String returns the name of the first function, for logs.
func (h HandlerFuncs[T]) String() string {
	for _, f := range []any{h.Add, h.Update, h.Delete} {
		if v := reflect.ValueOf(f); !v.IsNil() {
			return runtime.FuncForPC(v.Pointer()).Name()
		}
	}
	return fmt.Sprintf("%T", h)
}

// nameOf returns the name of a handler for logs: its String method or its type.
func nameOf(handler any) string {
	if named, ok := handler.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", handler)
}

// Registration identifies a handler that AddHandler added to an informer. Its methods are safe for concurrent use.
type Registration struct {
	synced         <-chan struct{}
	remove, resync func()
}

// Synced returns a channel that is closed when the handler has been called for all objects of the first list or, if it
// was added later, for all objects that were cached then. It stays open if the handler is removed before.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Remove removes the handler: the informer starts no further call of it. Remove does not wait for a running call, and
// may be called by the handler itself. Calling it again has no effect.
func (r *Registration) Remove() { r.remove() }

// Resync queues a call of OnUpdate for every cached object, with the object as both old and new. It does not block.
func (r *Registration) Resync() { r.resync() }
