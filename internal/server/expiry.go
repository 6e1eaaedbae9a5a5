package server

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// expiry deletes the objects of a kind that has a Lifetime when nobody has written them for so long, whatever holds them:
// kube-apiserver has etcd do so with events, by leases. A server that starts does not know when the objects that it finds were
// written, and gives them their time anew.
type expiry struct {
	s        *Server
	resource schema.GroupResource
	lifetime time.Duration

	mu sync.Mutex
	// waiting is each write of the last lifetime, in order.
	waiting []dated
	// timer runs while somebody waits, and is nil else.
	timer *time.Timer
}

// dated is a state of an object, and when it goes if it is still the last one.
type dated struct {
	key object.Key // empty for all objects that were last written at the revision or before
	// revision is 0 where nobody knows whether the object was written.
	revision object.Revision
	due      time.Time
}

// expiryPause is the least time between two looks at who is due, so that those that were written together go together.
const expiryPause = time.Second

// loadExpiries makes the expiries of all kinds that need one. What is stored is dated together, unless it is to be kept: it is not
// looked through before its time.
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

// expires is told how a commit of an object ended, nil for one that was written: one that failed otherwise than by a conflict
// may have been written all the same.
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

// date has a state go a lifetime from now.
func (e *expiry) date(key object.Key, revision object.Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, dated{key, revision, time.Now().Add(e.lifetime)})
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

// endAll deletes what nobody has written since a revision.
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

// end deletes an object, nil if it is not there, that is as it was when it was dated. One of which nobody knew is dated now, and
// where the deletion fails, it is tried again a lifetime later.
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
	e.s.log.Error("an object whose time is over cannot be deleted; it stays as long again", "object", o.Key.Name(), "error", err)
	e.date(o.Key, revision)
}
