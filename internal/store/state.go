package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// state is what readers see: the durable objects, and how they came to be. Only publish changes it.
type state struct {
	lock    sharedLock
	start   time.Time
	objects *tree
	current object.Revision
	history history
	// closed is why nothing more can be asked for; nil while the store lives.
	closed error

	// latest is the snapshot of current, nil until somebody asks: a commit without readers copies nothing.
	latest atomic.Pointer[Snapshot]
	// past is a copy of the history's as of current, nil until somebody asks for an older state.
	past *past

	// damaged are the objects that the log has and cannot read; nil when there are none. The store's mu is held where it changes.
	damaged map[object.Key]*UnreadableError

	progress signal
	// ready is a closed channel, for those who need not wait.
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

// publish makes durable commits visible, all at once, and returns whom to wake. They are in order. tidy is to follow, when there
// is time.
func (s *state) publish(commits []*proposal) (waiting []chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := time.Since(s.start)
	s.latest.Store(nil)
	s.past = nil
	for _, p := range commits {
		for _, e := range p.events {
			waiting = s.apply(e, now, waiting)
		}
		for _, key := range p.discarded {
			delete(s.damaged, key)
		}
		s.current = p.commit.Revision
	}
	return s.progress.take(waiting)
}

// tidy does what no reader needs at once, and returns the oldest revision that can be asked for from now on.
func (s *state) tidy() (oldest object.Revision) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.history.tidy(time.Since(s.start))
	return s.history.oldest
}

// apply makes one event visible. The lock is held.
func (s *state) apply(e *object.Event, now time.Duration, waiting []chan struct{}) []chan struct{} {
	if e.Deleted {
		s.objects.delete(e.Key())
	} else {
		s.objects.set(e.Object)
	}
	return s.history.add(e, now, waiting)
}

// snapshot is the current state. The lock is held.
func (s *state) snapshot() *Snapshot {
	if latest := s.latest.Load(); latest != nil {
		return latest
	}
	latest := &Snapshot{revision: s.current, objects: s.objects.copy()}
	s.latest.Store(latest)
	return latest
}

// before is the state at an older revision. The lock is held.
func (s *state) before(revision object.Revision) *Snapshot {
	latest := s.snapshot()
	if s.past == nil {
		s.past = s.history.past.copy()
	}
	return &Snapshot{revision: revision, objects: latest.objects, past: s.past}
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

// next is nil when a revision is published, else the channel that the next commit closes.
func (s *state) next(revision object.Revision) (<-chan struct{}, error) {
	defer s.lock.read().RUnlock()
	if s.closed != nil || s.current >= revision {
		return nil, s.closed
	}
	return s.progress.wait(), nil
}

// close lets nothing more be asked for, and wakes everybody who waits. The first cause stays.
func (s *state) close(cause error) {
	s.lock.Lock()
	if s.closed == nil {
		s.closed = cause
	}
	s.latest.Store(nil)
	waiting := s.history.everybody(s.progress.take(nil))
	s.lock.Unlock()
	wake(waiting)
}
