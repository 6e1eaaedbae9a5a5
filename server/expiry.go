package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/store"
)

// expiry deletes the objects of a kind that has a Lifetime when nobody has written them for so long, whatever holds them:
// kube-apiserver has etcd do so with events, by leases. A server that starts does not know when the objects that it finds were
// written, and gives them their time anew.
type expiry struct {
	s        *Server
	lifetime time.Duration

	mu sync.Mutex
	// waiting is each write of the last lifetime, in order.
	waiting []dated
	// timer runs while somebody waits, and is nil else.
	timer *time.Timer
}

// dated is a state of an object, and when it goes if it is still the last one.
type dated struct {
	key      object.Key
	revision object.Revision
	due      time.Time
}

// expiryPause is the least time between two looks at who is due, so that those that were written together go together.
const expiryPause = time.Second

// loadExpiries makes the expiries of all kinds that need one, and dates what is stored.
func (s *Server) loadExpiries(ctx context.Context) error {
	s.expiries = map[schema.GroupResource]*expiry{}
	for _, k := range s.kinds.Kinds() {
		info := k.Info()
		if info.Lifetime == 0 {
			continue
		}
		e := &expiry{s: s, lifetime: info.Lifetime}
		s.expiries[info.GroupResource()] = e
		snapshot, err := s.store.Snapshot(ctx, store.Latest())
		if err != nil {
			return err
		}
		snapshot.Scan(object.Prefix(info.GroupResource(), ""), "", func(o *object.Object) bool {
			e.written(o)
			return true
		})
	}
	return nil
}

// written dates a state that was committed.
func (e *expiry) written(o *object.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, dated{o.Key, o.Revision, time.Now().Add(e.lifetime)})
	if e.timer == nil {
		e.arm()
	}
}

// arm sets the timer for the first that waits, unless the server closes; the caller holds mu.
func (e *expiry) arm() {
	e.timer = nil
	if len(e.waiting) > 0 && e.s.ctx.Err() == nil {
		e.timer = time.AfterFunc(max(time.Until(e.waiting[0].due), expiryPause), e.run)
	}
}

// stop ends the timer when the server's context has ended: a run that has begun is counted in the server's work.
func (e *expiry) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
}

func (e *expiry) run() {
	if !e.s.begin() {
		return
	}
	defer e.s.work.Done()
	for _, d := range e.due() {
		e.end(d)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arm()
}

// due takes off those whose time has come.
func (e *expiry) due() []dated {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, n := time.Now(), 0
	for n < len(e.waiting) && !e.waiting[n].due.After(now) {
		n++
	}
	due := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	return due
}

// end deletes an object that is as it was when it was dated. Where that fails, it is tried again a lifetime later.
func (e *expiry) end(d dated) {
	current := e.s.store.Get(d.key)
	if current == nil || current.Revision != d.revision {
		return
	}
	_, err := e.s.store.Commit(e.s.ctx, store.Change{Key: d.key, Expect: store.At(d.revision)})
	var conflict *store.ConflictError
	if err == nil || errors.As(err, &conflict) || e.s.ctx.Err() != nil {
		return
	}
	e.s.log.Error("an object whose time is over cannot be deleted; it stays as long again", "object", d.key.Name(), "error", err)
	e.written(current)
}
