package informer

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/bowline-dev/bowline/client"
)

// listener is a handler with its backlog and its goroutine.
type listener[T client.Object] struct {
	handler Handler[T]
	name    string
	detect  *Mutations
	log     *slog.Logger
	synced  chan struct{}
	ended   chan struct{} // closed when its goroutine ends

	mu      sync.Mutex
	ready   sync.Cond
	waiting backlog[T]
	stopped bool
	// calls counts the entries taken from the backlog. busy is the object of the current call.
	calls, panics int
	busy          *Key
	watched       int // calls at the previous check for overdue calls; negative if that call was reported

	// The goroutine owns the fields below. current is the entry that is being delivered. stale holds, for each object
	// whose newer states cannot be decoded, the state that the handler was last notified of, or nil.
	current *backlogEntry[T]
	stale   map[Key]*state[T]
}

func newListener[T client.Object](handler Handler[T], detect *Mutations, log *slog.Logger) *listener[T] {
	name := nameOf(handler)
	l := &listener[T]{handler: handler, name: name, detect: detect, log: log.With("handler", name),
		synced: make(chan struct{}), ended: make(chan struct{})}
	l.ready.L = &l.mu
	_, l.waiting.reportVanished = handler.(VanishHandler[T])
	return l
}

// enqueue queues notices and does not block.
func (l *listener[T]) enqueue(notices []notice[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	lost := l.waiting.lost
	for _, n := range notices {
		l.waiting.add(n)
	}
	if lost == 0 && l.waiting.lost > 0 {
		l.log.Error("a handler is too far behind to be notified of all deletions:"+
			" restart programs that wait for deletions", "waiting", l.waiting.vanished)
	}
	l.ready.Signal()
}

// stop drops the pending notifications and lets the goroutine end.
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

func (l *listener[T]) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// run calls the handler until ctx ends or it is stopped. If the handler ends the goroutine, run may be called
// again.
func (l *listener[T]) run(ctx context.Context) {
	unlink := context.AfterFunc(ctx, l.stop)
	defer unlink()
	for {
		if l.current == nil {
			l.current = l.dequeue()
		}
		if l.current == nil {
			return
		}
		l.deliver(l.current)
		l.current = nil
	}
}

// dequeue waits for the next entry. It returns nil after stop.
func (l *listener[T]) dequeue() *backlogEntry[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = nil
	for l.waiting.length == 0 && !l.stopped {
		l.ready.Wait()
	}
	u := l.waiting.dequeue()
	if u != nil {
		l.calls++
		l.busy = &u.key
	}
	return u
}

// deliver delivers an entry. It skips states that failed to decode; the failure has been reported before.
func (l *listener[T]) deliver(u *backlogEntry[T]) {
	if u.synced {
		close(l.synced)
		return
	}
	if deleted := u.deleted; deleted != nil {
		u.deleted = nil
		l.deliverDeletion(deleted, u.unknown)
	}
	for len(u.vanished) > 0 && !l.isStopped() {
		s := u.vanished[0]
		u.vanished = u.vanished[1:]
		l.deliverVanished(s)
	}
	if s := u.new; s != nil && !l.isStopped() {
		u.new = nil
		l.deliverState(s, u)
	}
}

// deliverDeletion delivers a deletion. A handler that was not notified of the object, because it could not be
// decoded, is not notified of its deletion either, unless it is a VanishHandler.
func (l *listener[T]) deliverDeletion(s *state[T], unknown bool) {
	delivered, isStale := l.stale[s.key]
	delete(l.stale, s.key)
	if isStale && delivered == nil {
		if _, isVanishHandler := l.handler.(VanishHandler[T]); isVanishHandler {
			l.deliverVanished(s)
		}
		return
	}
	obj, err := s.read()
	if err != nil {
		obj, unknown = lastDelivered(s, delivered), true
	}
	l.call("OnDelete", s, func() { l.handler.OnDelete(obj, unknown) }, obj)
}

// deliverVanished delivers the deletion of an object that the handler was never notified of.
func (l *listener[T]) deliverVanished(s *state[T]) {
	obj, err := s.read()
	if err != nil {
		obj = s.bare()
	}
	l.call("OnVanish", s, func() { l.handler.(VanishHandler[T]).OnVanish(obj, err != nil) }, obj)
}

// deliverState delivers an update of u.old, an addition if that is nil, or a resync if both are equal.
func (l *listener[T]) deliverState(s *state[T], u *backlogEntry[T]) {
	old := u.old
	delivered, isStale := l.stale[s.key]
	obj, err := s.read()
	if err != nil {
		if !isStale {
			l.recordStale(s.key, old)
		}
		return
	}
	if isStale {
		old = delivered
		delete(l.stale, s.key)
	}
	if old == nil {
		l.call("OnAdd", s, func() { l.handler.OnAdd(obj, u.initial) }, obj)
		return
	}
	before := obj
	if old != s {
		before = lastDelivered(old, old)
	}
	if merging, ok := l.handler.(MergeHandler[T]); ok && (u.merged || isStale) {
		l.call("OnMerged", s, func() { merging.OnMerged(before, obj) }, obj, before)
		return
	}
	l.call("OnUpdate", s, func() { l.handler.OnUpdate(before, obj) }, obj, before)
}

// lastDelivered returns the state that the handler was notified of, if it is known and can be decoded, or the head
// of s.
func lastDelivered[T client.Object](s, delivered *state[T]) T {
	if delivered != nil {
		if obj, err := delivered.read(); err == nil {
			return obj
		}
	}
	return s.bare()
}

// recordStale records the state that the handler was last notified of, because a newer state cannot be decoded.
func (l *listener[T]) recordStale(key Key, delivered *state[T]) {
	if l.stale == nil {
		l.stale = map[Key]*state[T]{}
	}
	l.stale[key] = delivered
}

// call calls a method of the handler, which may panic or end the goroutine.
func (l *listener[T]) call(method string, s *state[T], call func(), objects ...client.Object) {
	returned := false
	defer func() {
		reason := recover()
		if returned {
			return
		}
		if reason == nil {
			reason = "it called runtime.Goexit, as t.FailNow does, which is only allowed in the goroutine of a test"
		}
		l.panicked()
		l.log.Error("a handler panicked: the next notification follows", "call", method, "object",
			s.key.String(),
			"revision", s.revision, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
	}()
	l.detect.during(l.name, call, objects...)
	returned = true
}

func (l *listener[T]) panicked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.panics++
}

// overdue returns the object of the current call, or nil, and reports, once per call, whether it was already
// running at the previous check.
func (l *listener[T]) overdue() (key *Key, overdue bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.busy == nil || l.watched == -l.calls:
	case l.watched == l.calls:
		l.watched, overdue = -l.calls, true // reported
	default:
		l.watched = l.calls
	}
	return l.busy, overdue
}
