package store

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Snapshot is the whole state at one revision. It never changes, costs nothing to hold but the objects that have been
// replaced since, and is safe for concurrent use. Everything that it yields is shared and must not be changed.
type Snapshot struct {
	revision object.Revision
	objects  *tree
}

// Which says which state a snapshot shows.
type Which struct {
	kind     moment
	revision object.Revision
}

type moment uint8

const (
	latest moment = iota
	atLeast
	exactly
)

// Latest is the state with everything that was committed before the call, by whomever.
func Latest() Which { return Which{} }

// AtLeast is any state not before a revision; it is the newest that this store knows.
func AtLeast(revision object.Revision) Which { return Which{kind: atLeast, revision: revision} }

// Exactly is the state that the commit of a revision made.
func Exactly(revision object.Revision) Which { return Which{kind: exactly, revision: revision} }

// Snapshot returns the state that is asked for. Latest may wait for a log that is shared; the others never wait:
// *FutureError when the revision is not reached yet, *CompactedError when Exactly asks for what the history has dropped.
func (s *Store) Snapshot(ctx context.Context, which Which) (*Snapshot, error) {
	if which.kind == latest {
		return s.latest(ctx)
	}
	snapshot, err := s.newest()
	switch {
	case err != nil:
		return nil, err
	case which.revision > snapshot.revision:
		return nil, &FutureError{Requested: which.revision, Current: snapshot.revision}
	case which.kind == atLeast || which.revision == snapshot.revision:
		return snapshot, nil
	}
	return s.older(which.revision)
}

// latest is the published state once it has everything that the log has now.
func (s *Store) latest(ctx context.Context) (*Snapshot, error) {
	current, err := s.log.Current(ctx)
	if err != nil {
		return nil, err
	}
	if snapshot := s.state.latest.Load(); snapshot != nil && snapshot.revision >= current {
		return snapshot, nil
	}
	if err := s.state.await(ctx, current); err != nil {
		return nil, err
	}
	return s.newest()
}

// newest is the published state.
func (s *Store) newest() (*Snapshot, error) {
	if snapshot := s.state.latest.Load(); snapshot != nil {
		return snapshot, nil
	}
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	if s.state.closed != nil {
		return nil, s.state.closed
	}
	return s.state.snapshot(), nil
}

// older brings back a state from before the published one.
func (s *Store) older(revision object.Revision) (*Snapshot, error) {
	st := s.state
	st.lock.Lock()
	st.trim(time.Since(st.start))
	if revision < st.history.oldest {
		defer st.lock.Unlock()
		return nil, &CompactedError{Requested: revision, Oldest: st.history.oldest}
	}
	objects, events := st.rewind(revision)
	st.lock.Unlock()

	undo(objects, events)
	snapshot := &Snapshot{revision: revision, objects: objects}
	if len(events) > rootSpacing {
		st.lock.Lock()
		st.keep(snapshot)
		st.lock.Unlock()
	}
	return snapshot, nil
}

// undo takes events back, the last one first.
func undo(objects *tree, events []*object.Event) {
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Previous != nil {
			objects.set(e.Previous)
		} else {
			objects.delete(e.Key())
		}
	}
}

// Revision is that of the last commit that the snapshot shows.
func (s *Snapshot) Revision() object.Revision { return s.revision }

// Get is nil when the key is absent.
func (s *Snapshot) Get(key object.Key) *object.Object { return s.objects.get(key) }

// Scan yields the objects of a prefix in the order of their keys, from the first key that is not below from, until yield
// returns false. An empty from is the beginning. A prefix that does not end with a slash is one full key.
func (s *Snapshot) Scan(prefix, from object.Key, yield func(*object.Object) bool) {
	s.Select(prefix, from, func(object.Mark) bool { return true }, yield)
}

// Select is Scan without the objects that may is false for: it is told the mark of their labels, and they are not touched.
func (s *Snapshot) Select(prefix, from object.Key, may func(object.Mark) bool, yield func(*object.Object) bool) {
	left := s.Len(prefix, from) // counted first: comparing each key with the prefix would take longer than all the rest
	if left == 0 {
		return
	}
	s.objects.ascend(max(prefix, from), func(i item) bool {
		left--
		return (!may(i.mark) || yield(i.object)) && left > 0
	})
}

// Len is how many objects Scan would yield from a key on, without visiting them.
func (s *Snapshot) Len(prefix, from object.Key) int {
	if strings.HasSuffix(string(prefix), "/") {
		return s.objects.rank(prefix+"\xff") - s.objects.rank(max(prefix, from))
	}
	if from > prefix || s.Get(prefix) == nil {
		return 0
	}
	return 1
}

// All yields every object in the order of keys.
func (s *Snapshot) All() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		s.objects.ascend("", func(i item) bool { return yield(i.object) })
	}
}

// Size is how many objects All yields.
func (s *Snapshot) Size() int { return s.objects.nodes.Len() }
