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
	watched       int // value of calls at the previous check

	// The goroutine owns the rest: the entry that is being delivered, and, for objects whose newer states
	// cannot be decoded, the state that the handler was notified of, or nil.
	passing *untold[T]
	stale   map[Key]*state[T]
}

func newListener[T client.Object](handler Handler[T], detect *Mutations, log *slog.Logger) *listener[T] {
	name := nameOf(handler)
	l := &listener[T]{handler: handler, name: name, detect: detect, log: log.With("handler", name),
		synced: make(chan struct{}), ended: make(chan struct{})}
	l.ready.L = &l.mu
	_, l.waiting.thorough = handler.(VanishHandler[T])
	return l
}

// tell queues notices and does not block.
func (l *listener[T]) tell(notices []notice[T]) {
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
		l.log.Error("a handler is too far behind to be notified of further deleted objects:"+
			" restart clients that wait for these deletions", "waiting", l.waiting.vanished)
	}
	l.ready.Signal()
}

// stop ends the notifications.
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
		if l.passing == nil {
			l.passing = l.take()
		}
		if l.passing == nil {
			return
		}
		l.pass(l.passing)
		l.passing = nil
	}
}

// take waits for the next entry. It returns nil after stop.
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

// pass delivers an entry. It skips states that failed to decode; the failure has been reported before.
func (l *listener[T]) pass(u *untold[T]) {
	if u.synced {
		close(l.synced)
		return
	}
	if gone := u.gone; gone != nil {
		u.gone = nil
		l.passGone(gone, u.unknown)
	}
	for len(u.vanished) > 0 && !l.isStopped() {
		s := u.vanished[0]
		u.vanished = u.vanished[1:]
		l.passVanished(s)
	}
	if s := u.new; s != nil && !l.isStopped() {
		u.new = nil
		l.passNew(s, u)
	}
}

// passGone delivers a deletion. A handler that was not notified of the object, because it could not be
// decoded, is not notified of its deletion either, unless it is a VanishHandler.
func (l *listener[T]) passGone(s *state[T], unknown bool) {
	told, isStale := l.stale[s.key]
	delete(l.stale, s.key)
	if isStale && told == nil {
		if _, thorough := l.handler.(VanishHandler[T]); thorough {
			l.passVanished(s)
		}
		return
	}
	obj, err := s.read()
	if err != nil {
		obj, unknown = lastTold(s, told), true
	}
	l.call("OnDelete", s, func() { l.handler.OnDelete(obj, unknown) }, obj)
}

// passVanished delivers an object that came and went, or its head if its state was not retained or cannot be
// decoded.
func (l *listener[T]) passVanished(s *state[T]) {
	obj, err := s.read()
	if err != nil {
		obj = s.bare()
	}
	l.call("OnVanish", s, func() { l.handler.(VanishHandler[T]).OnVanish(obj, err != nil) }, obj)
}

// passNew delivers an update of u.old, an addition if that is nil, or a resync if both are equal.
func (l *listener[T]) passNew(s *state[T], u *untold[T]) {
	old := u.old
	told, isStale := l.stale[s.key]
	obj, err := s.read()
	if err != nil {
		if !isStale {
			l.keepStale(s.key, old)
		}
		return
	}
	if isStale {
		old = told
		delete(l.stale, s.key)
	}
	if old == nil {
		l.call("OnAdd", s, func() { l.handler.OnAdd(obj, u.initial) }, obj)
		return
	}
	before := obj
	if old != s {
		before = lastTold(old, old)
	}
	if merging, ok := l.handler.(MergeHandler[T]); ok && (u.merged || isStale) {
		l.call("OnMerged", s, func() { merging.OnMerged(before, obj) }, obj, before)
		return
	}
	l.call("OnUpdate", s, func() { l.handler.OnUpdate(before, obj) }, obj, before)
}

// lastTold returns the state that the handler was notified of, if it is known and can be decoded, or the head
// of s.
func lastTold[T client.Object](s, told *state[T]) T {
	if told != nil {
		if obj, err := told.read(); err == nil {
			return obj
		}
	}
	return s.bare()
}

// keepStale records that a newer state than the one that the handler knows cannot be decoded.
func (l *listener[T]) keepStale(key Key, told *state[T]) {
	if l.stale == nil {
		l.stale = map[Key]*state[T]{}
	}
	l.stale[key] = told
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
			reason = "it called runtime.Goexit, as t.FailNow does, which only a test's own goroutine may call"
		}
		l.panicked()
		l.log.Error("a handler panicked: it missed this notification only", "call", method, "object",
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
