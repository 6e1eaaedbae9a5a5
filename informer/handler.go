package informer

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/bowline-dev/bowline/client"
)

// Handler is notified of changes of the objects in a cache, after the cache was updated. Calls are sequential
// and in order. The objects are shared: copy them before changing them.
//
// A slow handler delays no other. If a handler falls behind, updates are coalesced per object: it gets one
// call, from the state that it knows to the newest one. Objects that came and went meanwhile are not
// reported, unless the handler is a VanishHandler. The backlog is thus bounded by the number of objects. A handler
// that panics, or calls runtime.Goexit as testing.T.FailNow does, misses only that call; the panic is logged.
type Handler[T client.Object] interface {
	// OnAdd is called for an object that is new to the handler. isInInitialList is true for objects that
	// existed before the informer or the handler started.
	OnAdd(obj T, isInInitialList bool)
	// OnUpdate is called for a change, and for a resync, in which both are the same object.
	OnUpdate(old, new T)
	// OnDelete is called for a deletion with the last state. finalStateUnknown reports that the deletion was
	// not observed, so obj is only the last known state.
	OnDelete(obj T, finalStateUnknown bool)
}

// VanishHandler is a Handler that is also notified of objects that came and went while it was behind, or that
// could never be decoded. Handlers that wait for the deletion of objects they created need this.
//
// The backlog stays bounded: for the first 1,024 such objects the last state is retained, for further ones
// only name, UID and revision (some 600 bytes each), and from 131,072 on they are dropped, which is logged:
// whatever waits for their deletion must then be restarted.
type VanishHandler[T client.Object] interface {
	Handler[T]
	// OnVanish is called for an object that the handler was never notified of and that is gone. If
	// finalStateUnknown is true, only the name, UID and revision of obj are valid, because the last state was
	// not retained or cannot be decoded.
	OnVanish(obj T, finalStateUnknown bool)
}

// MergeHandler is a Handler that distinguishes merged updates. A handler that ignores updates without a relevant
// difference must know them: a state in between may have been read from the cache and acted on.
type MergeHandler[T client.Object] interface {
	Handler[T]
	// OnMerged is called instead of OnUpdate if there may have been states between old and new.
	OnMerged(old, new T)
}

// HandlerFuncs is a Handler made of functions; nil functions are not called.
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

// Registration is a handler that was added to an informer. Its methods are safe for concurrent use.
type Registration struct {
	synced         <-chan struct{}
	remove, resync func()
}

// Synced returns a channel that is closed when the handler has been called for all objects that existed when
// it was added. It stays open if the handler is removed before.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Remove stops further calls of the handler. It does not wait for a running call, and may be called by the
// handler itself. Calling it again has no effect.
func (r *Registration) Remove() { r.remove() }

// Resync passes every cached object to the handler once more, as an update without a change.
func (r *Registration) Resync() { r.resync() }
