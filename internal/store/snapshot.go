package store

import (
	"context"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// Snapshot is the whole state at one revision. It is immutable and safe for concurrent use. Besides the live
// objects, it retains only the objects that were replaced since it was taken. The objects that it yields are shared and
// must not be modified.
type Snapshot struct {
	revision object.Revision
	objects  *tree
	// index holds the states that were replaced since the revision; nil if objects is the state at the revision
	// itself, and not a later one.
	index *revisionIndex
}

// RevisionSelector selects the revision of a snapshot: see Latest, AtLeast and Exactly.
type RevisionSelector struct {
	kind     selectorKind
	revision object.Revision
}

type selectorKind uint8

const (
	latest selectorKind = iota
	atLeast
	exactly
)

// Latest selects a state that includes everything that any writer committed before the call.
func Latest() RevisionSelector { return RevisionSelector{} }

// AtLeast selects the newest published state, which must not be before a revision.
func AtLeast(revision object.Revision) RevisionSelector {
	return RevisionSelector{kind: atLeast, revision: revision}
}

// Exactly selects the state at a revision.
func Exactly(revision object.Revision) RevisionSelector {
	return RevisionSelector{kind: exactly, revision: revision}
}

// Snapshot returns the selected state. Latest may wait for a shared log; the others never wait. Snapshot
// returns *FutureError if the revision is not reached yet, and *CompactedError if Exactly names a revision
// that the history has dropped.
func (s *Store) Snapshot(ctx context.Context, which RevisionSelector) (*Snapshot, error) {
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

// latest returns the published state once it includes everything that the log contains now.
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

// newest returns the published state.
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

// older returns a state before the published one.
func (s *Store) older(revision object.Revision) (*Snapshot, error) {
	st := s.state
	st.lock.Lock()
	defer st.lock.Unlock()
	st.history.trim(time.Since(st.start))
	if revision < st.history.oldest {
		return nil, &CompactedError{Requested: revision, Oldest: st.history.oldest}
	}
	return st.snapshotAt(revision), nil
}

// Revision returns the revision of the last commit included in the snapshot.
func (s *Snapshot) Revision() object.Revision { return s.revision }

// Get returns the object at a key, nil if absent.
func (s *Snapshot) Get(key object.Key) *object.Object {
	o := s.objects.get(key)
	if s.index == nil || o != nil && o.Revision <= s.revision {
		return o
	}
	return s.index.get(key, s.revision)
}

// Scan yields the objects of a prefix in key order, from the first key not below from, until yield returns
// false. An empty from starts at the beginning. A prefix that does not end with a slash is one full key.
func (s *Snapshot) Scan(prefix, from object.Key, yield func(*object.Object) bool) {
	s.Select(prefix, from, anyMark, yield)
}

func anyMark(object.Mark) bool { return true }

// Select is like Scan, but skips objects for which mayMatch returns false. It passes the mark of the object's
// labels to mayMatch, without reading the object.
func (s *Snapshot) Select(prefix, from object.Key, mayMatch func(object.Mark) bool, yield func(*object.Object) bool) {
	if s.index != nil {
		s.selectOlder(max(prefix, from), prefixEnd(prefix), mayMatch, yield)
		return
	}
	left := s.Len(prefix, from) // counting first is much faster than comparing each key with the prefix
	if left == 0 {
		return
	}
	s.objects.ascend(max(prefix, from), func(i item) bool {
		left--
		return (!mayMatch(i.mark) || yield(i.object)) && left > 0
	})
}

// selectOlder implements Select for an older state and the keys in [from, below). It merges the live objects that
// have not changed since the revision with the states that were replaced since.
func (s *Snapshot) selectOlder(from, below object.Key, mayMatch func(object.Mark) bool,
	yield func(*object.Object) bool) {
	replaced := s.index.since(s.revision, from, below)
	more := true
	yieldReplaced := func(upTo object.Key) {
		for more && replaced.object != nil && replaced.object.Key <= upTo {
			more = !mayMatch(replaced.object.Mark()) || yield(replaced.object)
			replaced.next()
		}
	}
	s.objects.ascend(from, func(i item) bool {
		if i.object.Key >= below {
			return false
		}
		yieldReplaced(i.object.Key)
		if more && i.object.Revision <= s.revision && mayMatch(i.mark) {
			more = yield(i.object)
		}
		return more
	})
	yieldReplaced(below)
}

// prefixEnd returns the first key after all keys of a prefix.
func prefixEnd(prefix object.Key) object.Key {
	if strings.HasSuffix(string(prefix), "/") {
		return prefix + "\xff"
	}
	return prefix + "\x00"
}

// Len returns how many objects Scan would yield. It does not visit the objects of the newest state.
func (s *Snapshot) Len(prefix, from object.Key) int {
	if s.index != nil {
		return s.count(prefix, from, math.MaxInt)
	}
	return max(0, s.objects.rank(prefixEnd(prefix))-s.objects.rank(max(prefix, from)))
}

// Remaining estimates Len, for the remainingItemCount of a list. For an older state it counts up to countLimit
// objects; if there are more, it returns the number in the newest state.
func (s *Snapshot) Remaining(prefix, from object.Key) int {
	if s.index == nil {
		return s.Len(prefix, from)
	}
	n := s.count(prefix, from, countLimit)
	if n < countLimit {
		return n
	}
	newest := Snapshot{revision: s.revision, objects: s.objects}
	return max(n, newest.Len(prefix, from))
}

// countLimit is the number of objects that Remaining counts; reading a page of a list takes several times as long.
const countLimit = 1000

func (s *Snapshot) count(prefix, from object.Key, limit int) (n int) {
	s.Scan(prefix, from, func(*object.Object) bool {
		n++
		return n < limit
	})
	return n
}

// All yields every object in key order.
func (s *Snapshot) All() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		if s.index != nil {
			s.selectOlder("", "\xff", anyMark, yield)
			return
		}
		s.objects.ascend("", func(i item) bool { return yield(i.object) })
	}
}

// Size returns the number of objects.
func (s *Snapshot) Size() int {
	if s.index == nil {
		return s.objects.nodes.Len()
	}
	n := 0
	for range s.All() {
		n++
	}
	return n
}
