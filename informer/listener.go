package informer

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/bowline-dev/bowline/client"
)

// listener is one handler with what it has not been told yet, and the goroutine that tells it.
type listener[T client.Object] struct {
	handler Handler[T]
	name    string
	detect  *Mutations
	log     *slog.Logger
	synced  chan struct{}
	ended   chan struct{} // closed when its goroutine is no more

	mu      sync.Mutex
	ready   sync.Cond
	waiting backlog[T]
	stopped bool
	// calls counts what was taken from the backlog. While the handler is called, busy is the object that it is called with.
	calls, panics int
	busy          *Key
	watched       int // the value of calls when it was last looked at
}

func newListener[T client.Object](handler Handler[T], detect *Mutations, log *slog.Logger) *listener[T] {
	name := nameOf(handler)
	l := &listener[T]{handler: handler, name: name, detect: detect, log: log.With("handler", name),
		synced: make(chan struct{}), ended: make(chan struct{})}
	l.ready.L = &l.mu
	return l
}

// tell queues notices and does not wait.
func (l *listener[T]) tell(notices []notice[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	for _, n := range notices {
		l.waiting.add(n)
	}
	l.ready.Signal()
}

// stop has the handler told of nothing more.
func (l *listener[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.stopped = backlog[T]{}, true
	l.ready.Signal()
}

func (l *listener[T]) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// run calls the handler until ctx ends or it is stopped.
func (l *listener[T]) run(ctx context.Context) {
	defer close(l.ended)
	unlink := context.AfterFunc(ctx, l.stop)
	defer unlink()
	for {
		u := l.take()
		if u == nil {
			return
		}
		l.pass(u)
	}
}

// take waits for the next notice; nil means that there will be none.
func (l *listener[T]) take() *untold[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = nil
	for l.waiting.length == 0 && !l.stopped {
		l.ready.Wait()
	}
	u := l.waiting.take()
	if u != nil {
		l.calls++
		l.busy = &u.key
	}
	return u
}

// pass tells the handler what was taken. A state that cannot be read is passed over; that has been reported.
func (l *listener[T]) pass(u *untold[T]) {
	if u.synced {
		close(l.synced)
		return
	}
	if u.gone != nil {
		gone, err := u.gone.read()
		if err != nil { // the handler may know an earlier state
			gone, u.unknown = u.gone.bare(), true
		}
		l.call("OnDelete", u.gone, func() { l.handler.OnDelete(gone, u.unknown) }, gone)
	}
	if u.new == nil || l.isStopped() {
		return
	}
	obj, err := u.new.read()
	if err != nil {
		return
	}
	if old, known := before(u, obj); known {
		l.call("OnUpdate", u.new, func() { l.handler.OnUpdate(old, obj) }, obj, old)
	} else {
		l.call("OnAdd", u.new, func() { l.handler.OnAdd(obj, u.initial) }, obj)
	}
}

// before is the state of an object that the handler has been told of, if it has.
func before[T client.Object](u *untold[T], obj T) (old T, known bool) {
	switch u.old {
	case nil:
		return old, false
	case u.new:
		return obj, true
	}
	old, err := u.old.read()
	return old, err == nil
}

// call makes one call of the handler, with some objects, which may panic.
func (l *listener[T]) call(method string, s *state[T], call func(), objects ...client.Object) {
	defer func() {
		if reason := recover(); reason != nil {
			l.panicked()
			l.log.Error("a handler panicked: this call is lost to it, and nothing else", "call", method, "object", s.key.String(),
				"revision", s.revision, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		}
	}()
	l.detect.during(l.name, call, objects...)
}

func (l *listener[T]) panicked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.panics++
}

// overdue is the object of the call that is under way, or nil, and whether it was under way when that was asked the last
// time, which is said once of each call.
func (l *listener[T]) overdue() (key *Key, overdue bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.busy == nil || l.watched == -l.calls:
	case l.watched == l.calls:
		l.watched, overdue = -l.calls, true // said
	default:
		l.watched = l.calls
	}
	return l.busy, overdue
}
