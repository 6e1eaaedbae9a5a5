package informer

import (
	"context"
	"sync"

	"github.com/bowline-dev/bowline/client"
)

// Handler is told what happens to the objects in a cache, after the cache has it. Calls come one at a time, in order.
// What is passed is shared: copy before changing. A handler that takes its time delays nobody but itself; states that
// it is behind with are kept in memory.
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

// notice is one call that a handler is to get.
type notice[T client.Object] struct {
	kind     noticeKind
	old, new T
	flag     bool // isInInitialList or finalStateUnknown
}

type noticeKind uint8

const (
	noticeAdd noticeKind = iota
	noticeUpdate
	noticeDelete
	noticeSynced // the initial list has been handed over
)

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

// listener is one handler with what it has not been told yet.
type listener[T client.Object] struct {
	handler Handler[T]
	synced  chan struct{}

	mu      sync.Mutex
	ready   sync.Cond
	waiting []notice[T]
	stopped bool
}

func newListener[T client.Object](handler Handler[T]) *listener[T] {
	l := &listener[T]{handler: handler, synced: make(chan struct{})}
	l.ready.L = &l.mu
	return l
}

// tell queues notices and does not wait.
func (l *listener[T]) tell(notices ...notice[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, notices...)
	l.ready.Signal()
}

// stop has the handler told of nothing more.
func (l *listener[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.stopped = nil, true
	l.ready.Signal()
}

func (l *listener[T]) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// run calls the handler until ctx ends.
func (l *listener[T]) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ready.Broadcast()
	})
	defer stop()
	for {
		notices := l.take(ctx)
		if notices == nil {
			return
		}
		for _, n := range notices {
			if ctx.Err() != nil || l.isStopped() {
				return
			}
			l.call(n)
		}
	}
}

// take waits for notices; nil means that there will be none.
func (l *listener[T]) take(ctx context.Context) []notice[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && ctx.Err() == nil && !l.stopped {
		l.ready.Wait()
	}
	if ctx.Err() != nil || l.stopped {
		return nil
	}
	notices := l.waiting
	l.waiting = nil
	return notices
}

func (l *listener[T]) call(n notice[T]) {
	switch n.kind {
	case noticeAdd:
		l.handler.OnAdd(n.new, n.flag)
	case noticeUpdate:
		l.handler.OnUpdate(n.old, n.new)
	case noticeDelete:
		l.handler.OnDelete(n.old, n.flag)
	case noticeSynced:
		close(l.synced)
	}
}
