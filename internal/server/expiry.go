package server

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// expiry deletes the objects of a kind with a Lifetime that long after their last write, regardless of
// finalizers. Kube-apiserver does the same for events with leases of etcd. A server does not know when the
// objects that it finds at its start were written; their lifetime starts anew.
type expiry struct {
	s        *Server
	resource schema.GroupResource
	lifetime time.Duration

	mu sync.Mutex
	// waiting are the writes of the last lifetime, in order.
	waiting []dated
	// timer is nil if nothing waits.
	timer *time.Timer
}

// dated is a state of an object, and when the object is deleted if that is still its state.
type dated struct {
	key object.Key // empty for all objects that were last written at the revision or before
	// revision is 0 if it is unknown whether the object was written.
	revision object.Revision
	due      time.Time
}

// expiryPause is the minimum time between two runs, so that objects which were written together are deleted
// together.
const expiryPause = time.Second

// loadExpiries creates the expiries of all kinds with a Lifetime. Unless keep is set, stored objects expire
// together, and are not read before.
func (s *Server) loadExpiries(ctx context.Context, keep bool) error {
	s.expiries = map[schema.GroupResource]*expiry{}
	snapshot, err := s.store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	for _, k := range s.kinds.Kinds() {
		info := k.Info()
		if info.Lifetime == 0 {
			continue
		}
		e := &expiry{s: s, resource: info.GroupResource(), lifetime: info.Lifetime}
		s.expiries[e.resource] = e
		if keep {
			continue
		}
		snapshot.Scan(object.Prefix(e.resource, ""), "", func(*object.Object) bool {
			e.date("", snapshot.Revision())
			return false
		})
	}
	return nil
}

// expires schedules the expiry of an object after a commit. After an error other than a conflict, the object
// may have been written.
func (s *Server) expires(k kind.Kind, o *object.Object, err error) {
	info := k.Info()
	if info.Lifetime == 0 || o == nil {
		return
	}
	switch e := s.expiries[info.GroupResource()]; {
	case err == nil:
		e.date(o.Key, o.Revision)
	case !isConflict(err):
		e.date(o.Key, 0)
	}
}

// date schedules the expiry of a state.
func (e *expiry) date(key object.Key, revision object.Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, dated{key, revision, time.Now().Add(e.lifetime)})
	if e.timer == nil {
		e.arm()
	}
}

// arm sets the timer for the first state, unless the server closes; the caller holds mu.
func (e *expiry) arm() {
	e.timer = nil
	if len(e.waiting) > 0 && e.s.ctx.Err() == nil {
		e.timer = time.AfterFunc(max(time.Until(e.waiting[0].due), expiryPause), e.run)
	}
}

// stop stops the timer. The server's work includes a run in progress.
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
		if d.key != "" {
			e.end(e.s.store.Get(d.key), d.revision)
			continue
		}
		e.endAll(d.revision)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arm()
}

// due removes and returns the states that have expired.
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

// endAll deletes the objects that were not written after a revision.
func (e *expiry) endAll(revision object.Revision) {
	snapshot, err := e.s.store.Snapshot(e.s.ctx, store.Latest())
	if err != nil {
		e.s.log.Error("what is stored and has had its time stays as long again", "resource", e.resource, "error", err)
		e.date("", revision)
		return
	}
	snapshot.Scan(object.Prefix(e.resource, ""), "", func(o *object.Object) bool {
		if o.Revision <= revision {
			e.end(o, o.Revision)
		}
		return e.s.ctx.Err() == nil
	})
}

// end deletes an object if its state is still the dated one. If it was unknown whether the object was
// written, its lifetime starts now. If the deletion fails, it is retried after another lifetime.
func (e *expiry) end(o *object.Object, revision object.Revision) {
	switch {
	case o == nil:
		return
	case revision == 0:
		e.date(o.Key, o.Revision)
		return
	case o.Revision != revision:
		return
	}
	_, err := e.s.store.Commit(e.s.ctx, store.Change{Key: o.Key, Expect: store.At(revision)})
	if err == nil || isConflict(err) || e.s.ctx.Err() != nil {
		return
	}
	e.s.log.Error("an object whose time is over cannot be deleted; it stays as long again", "object", o.Key.Name(),
		"error", err)
	e.date(o.Key, revision)
}
