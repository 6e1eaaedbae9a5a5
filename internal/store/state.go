package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// state is the state visible to readers: the durable objects and their history. Only publish changes the objects and
// the current revision.
type state struct {
	lock    sharedLock
	start   time.Time
	objects *tree
	current object.Revision
	history history
	// closed is the error for calls after Close or after the log failed; nil while the store is open.
	closed error

	// latest is the snapshot of current, created on demand: a commit without readers copies nothing.
	latest atomic.Pointer[Snapshot]
	// index is a copy of the history's index at current, created by the first read of an older state since a commit.
	index *revisionIndex

	// damaged holds the unreadable objects of the log; nil if there are none. Changes require both the committer's mu
	// and lock, reads one of them.
	damaged map[object.Key]*UnreadableError

	// progress is signaled by each publish and by close.
	progress signal
	// ready is a closed channel, returned if there is no need to wait.
	ready chan struct{}
}

func newState(options Options) *state {
	s := &state{
		start:   time.Now(),
		objects: newTree(),
		history: newHistory(options.HistoryAge, options.HistoryBytes),
		ready:   make(chan struct{}),
	}
	close(s.ready)
	return s
}

// published returns the revision of the last published commit.
func (s *state) published() object.Revision {
	defer s.lock.read().RUnlock()
	return s.current
}

// publish makes durable commits visible atomically, in order, and returns the channels for wake to close. The caller
// then calls trimHistory, outside of the path that the writers wait for.
func (s *state) publish(commits []*proposal) (waiting []chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := time.Since(s.start)
	s.latest.Store(nil)
	s.index = nil
	for _, p := range commits {
		for _, e := range p.events {
			waiting = s.apply(e, now, waiting)
		}
		for _, key := range p.discarded {
			delete(s.damaged, key)
		}
		s.current = p.commit.Revision
	}
	return s.progress.detach(waiting)
}

// trimHistory drops history that exceeds its bounds, and returns the oldest available revision.
func (s *state) trimHistory() (oldest object.Revision) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.history.trim(time.Since(s.start))
	return s.history.oldest
}

// apply applies one event to the objects and the history. The caller holds the lock.
func (s *state) apply(e *object.Event, now time.Duration, waiting []chan struct{}) []chan struct{} {
	if e.Deleted {
		s.objects.delete(e.Key())
	} else {
		s.objects.set(e.Object)
	}
	return s.history.add(e, now, waiting)
}

// snapshot returns the current state. The caller holds the lock.
func (s *state) snapshot() *Snapshot {
	if latest := s.latest.Load(); latest != nil {
		return latest
	}
	latest := &Snapshot{revision: s.current, objects: s.objects.copy()}
	s.latest.Store(latest)
	return latest
}

// few returns the current objects of a prefix, if there are at most limit.
func (s *state) few(prefix object.Key, limit int) (few []*object.Object, found bool) {
	defer s.lock.read().RUnlock()
	end := prefixEnd(prefix)
	s.objects.ascend(prefix, func(i item) bool {
		if i.object.Key >= end {
			return false
		}
		few = append(few, i.object)
		return len(few) <= limit
	})
	return few, len(few) <= limit
}

// snapshotAt returns the state at an older revision. The caller holds the lock.
func (s *state) snapshotAt(revision object.Revision) *Snapshot {
	latest := s.snapshot()
	if s.index == nil {
		s.index = s.history.index.copy()
	}
	return &Snapshot{revision: revision, objects: latest.objects, index: s.index}
}

// await waits until a revision is published.
func (s *state) await(ctx context.Context, revision object.Revision) error {
	for {
		next, err := s.next(revision)
		if next == nil || err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next returns nil if a revision is published, else the channel that the next commit closes.
func (s *state) next(revision object.Revision) (<-chan struct{}, error) {
	defer s.lock.read().RUnlock()
	if s.closed != nil || s.current >= revision {
		return nil, s.closed
	}
	return s.progress.wait(), nil
}

// close rejects further calls and wakes all waiters. The first cause is retained.
func (s *state) close(cause error) {
	s.lock.Lock()
	if s.closed == nil {
		s.closed = cause
	}
	s.latest.Store(nil)
	waiting := s.history.detachWaiting(s.progress.detach(nil))
	s.lock.Unlock()
	wake(waiting)
}
