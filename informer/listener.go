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

	// The rest is its goroutine's: what it tells the handler of now, and the states that the handler was told of, or nil, of
	// objects whose newer states cannot be read.
	passing *untold[T]
	stale   map[Key]*state[T]
}

func newListener[T client.Object](handler Handler[T], detect *Mutations, log *slog.Logger) *listener[T] {
	name := nameOf(handler)
	l := &listener[T]{handler: handler, name: name, detect: detect, log: log.With("handler", name),
		synced: make(chan struct{}), ended: make(chan struct{})}
	l.ready.L = &l.mu
	_, l.waiting.thorough = handler.(Thorough[T])
	return l
}

// tell queues notices and does not wait.
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
		l.log.Error("a handler is so far behind that it does not hear of more objects that came and went: what waits for their"+
			" deletion, as a client that reads its writes does, must be begun anew", "waiting", l.waiting.vanished)
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

func (l *listener[T]) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// run calls the handler until ctx ends or it is stopped. When the handler ends its goroutine, run may be called again.
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

// passGone tells the handler of a deletion. One that never heard of the object, since it could not be read, does not hear of
// its end either, unless it is Thorough.
func (l *listener[T]) passGone(s *state[T], unknown bool) {
	told, isStale := l.stale[s.key]
	delete(l.stale, s.key)
	if isStale && told == nil {
		if _, thorough := l.handler.(Thorough[T]); thorough {
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

// passVanished tells the handler of an object that came and went; where its state is not kept, or cannot be read, of its head.
func (l *listener[T]) passVanished(s *state[T]) {
	obj, err := s.read()
	if err != nil {
		obj = s.bare()
	}
	l.call("OnVanish", s, func() { l.handler.(Thorough[T]).OnVanish(obj, err != nil) }, obj)
}

// passNew tells the handler of a state after the old one, or of an object that is new to it when that is nil, or that nothing has
// changed when that is the same.
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
	if merging, ok := l.handler.(Merging[T]); ok && (u.merged || isStale) {
		l.call("OnMerged", s, func() { merging.OnMerged(before, obj) }, obj, before)
		return
	}
	l.call("OnUpdate", s, func() { l.handler.OnUpdate(before, obj) }, obj, before)
}

// lastTold is the state that the handler was told of, where that is known and can be read again, else the head of another.
func lastTold[T client.Object](s, told *state[T]) T {
	if told != nil {
		if obj, err := told.read(); err == nil {
			return obj
		}
	}
	return s.bare()
}

// keepStale notes that a newer state of an object cannot be read than the one that the handler was told of, if it was.
func (l *listener[T]) keepStale(key Key, told *state[T]) {
	if l.stale == nil {
		l.stale = map[Key]*state[T]{}
	}
	l.stale[key] = told
}

// call makes one call of the handler, with some objects, which may panic, or end the goroutine.
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
		l.log.Error("a handler panicked: this call is lost to it, and nothing else", "call", method, "object", s.key.String(),
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
