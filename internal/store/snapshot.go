package store

import (
	"context"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/object"
)

// Snapshot is the whole state at one revision. It never changes, costs nothing to hold but the objects that have been
// replaced since, and is safe for concurrent use. Everything that it yields is shared and must not be changed.
type Snapshot struct {
	revision object.Revision
	objects  *tree
	// past is what was replaced since, when the objects are those of a later state; nil when they are those of the revision.
	past *past
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

// older is a state from before the published one.
func (s *Store) older(revision object.Revision) (*Snapshot, error) {
	st := s.state
	st.lock.Lock()
	defer st.lock.Unlock()
	st.history.tidy(time.Since(st.start))
	if revision < st.history.oldest {
		return nil, &CompactedError{Requested: revision, Oldest: st.history.oldest}
	}
	return st.before(revision), nil
}

// Revision is that of the last commit that the snapshot shows.
func (s *Snapshot) Revision() object.Revision { return s.revision }

// Get is nil when the key is absent.
func (s *Snapshot) Get(key object.Key) *object.Object {
	o := s.objects.get(key)
	if s.past == nil || o != nil && o.Revision <= s.revision {
		return o
	}
	return s.past.get(key, s.revision)
}

// Scan yields the objects of a prefix in the order of their keys, from the first key that is not below from, until yield
// returns false. An empty from is the beginning. A prefix that does not end with a slash is one full key.
func (s *Snapshot) Scan(prefix, from object.Key, yield func(*object.Object) bool) {
	s.Select(prefix, from, anyMark, yield)
}

func anyMark(object.Mark) bool { return true }

// Select is Scan without the objects that may is false for: it is told the mark of their labels, and they are not touched.
func (s *Snapshot) Select(prefix, from object.Key, may func(object.Mark) bool, yield func(*object.Object) bool) {
	if s.past != nil {
		s.rewound(max(prefix, from), end(prefix), may, yield)
		return
	}
	left := s.Len(prefix, from) // counted first: comparing each key with the prefix would take longer than all the rest
	if left == 0 {
		return
	}
	s.objects.ascend(max(prefix, from), func(i item) bool {
		left--
		return (!may(i.mark) || yield(i.object)) && left > 0
	})
}

// rewound is Select in an older state, of the keys from one on, below another: the objects that have not changed since,
// and what was replaced.
func (s *Snapshot) rewound(from, below object.Key, may func(object.Mark) bool, yield func(*object.Object) bool) {
	replaced := s.past.since(s.revision, from, below)
	more := true
	show := func(upTo object.Key) {
		for more && replaced.object != nil && replaced.object.Key <= upTo {
			more = !may(replaced.object.Mark()) || yield(replaced.object)
			replaced.next()
		}
	}
	s.objects.ascend(from, func(i item) bool {
		if i.object.Key >= below {
			return false
		}
		show(i.object.Key)
		if more && i.object.Revision <= s.revision && may(i.mark) {
			more = yield(i.object)
		}
		return more
	})
	show(below)
}

// end is the first key after all that a prefix holds.
func end(prefix object.Key) object.Key {
	if strings.HasSuffix(string(prefix), "/") {
		return prefix + "\xff"
	}
	return prefix + "\x00"
}

// Len is how many objects Scan would yield from a key on. Those of the newest state are not visited.
func (s *Snapshot) Len(prefix, from object.Key) int {
	if s.past != nil {
		return s.count(prefix, from, math.MaxInt)
	}
	return max(0, s.objects.rank(end(prefix))-s.objects.rank(max(prefix, from)))
}

// Remaining is Len, to tell a client about how much is left: of an older state it counts no more than counted, and where there
// are more it says how many the newest state has.
func (s *Snapshot) Remaining(prefix, from object.Key) int {
	if s.past == nil {
		return s.Len(prefix, from)
	}
	n := s.count(prefix, from, counted)
	if n < counted {
		return n
	}
	newest := Snapshot{revision: s.revision, objects: s.objects}
	return max(n, newest.Len(prefix, from))
}

// counted is how many objects of an older state are counted in a fraction of the time that a page of them takes.
const counted = 1000

func (s *Snapshot) count(prefix, from object.Key, most int) (n int) {
	s.Scan(prefix, from, func(*object.Object) bool {
		n++
		return n < most
	})
	return n
}

// All yields every object in the order of keys.
func (s *Snapshot) All() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		if s.past != nil {
			s.rewound("", "\xff", anyMark, yield)
			return
		}
		s.objects.ascend("", func(i item) bool { return yield(i.object) })
	}
}

// Size is how many objects All yields.
func (s *Snapshot) Size() int {
	if s.past == nil {
		return s.objects.nodes.Len()
	}
	n := 0
	for range s.All() {
		n++
	}
	return n
}
