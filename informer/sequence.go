package informer

import "github.com/bowline-dev/bowline/object"

// sequence keeps the events of a watch in the order of their revisions when whatever brings them does not: it refuses
// what comes a second time, and what comes so late that it would bring a deleted object back.
type sequence struct {
	// floor is the revision up to which everything has been told, by a list or a bookmark.
	floor object.Revision
	// last is the highest revision that was seen, where a new watch goes on.
	last object.Revision
	// deletions are the revisions above floor at which objects were deleted.
	deletions map[Key]object.Revision
}

// keptDeletions bounds the memory of deletions on a watch without bookmarks.
const keptDeletions = 4096

// restart begins anew behind a list.
func (s *sequence) restart(at object.Revision) {
	*s = sequence{floor: at, last: at, deletions: map[Key]object.Revision{}}
}

// settle notes that everything up to a revision has been told.
func (s *sequence) settle(at object.Revision) {
	s.last = max(s.last, at)
	if at > s.floor {
		s.floor = at
		clear(s.deletions)
	}
}

// admits says whether an event is to be passed on.
func (s *sequence) admits(key Key, at object.Revision, deleted bool) bool {
	if at <= s.floor || at <= s.deletions[key] {
		return false
	}
	s.last = max(s.last, at)
	if deleted {
		if len(s.deletions) >= keptDeletions {
			s.settle(s.last - 1)
		}
		s.deletions[key] = at
	}
	return true
}
