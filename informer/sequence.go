package informer

import "github.com/bowline-dev/bowline/internal/object"

// sequence filters the events of a watch whose transport may duplicate or reorder events. It rejects
// duplicates, and late events that would revive a deleted object.
type sequence struct {
	// floor is the revision up to which a list or bookmark has confirmed all changes.
	floor object.Revision
	// last is the highest revision received, at which a new watch resumes.
	last object.Revision
	// deletions holds the revisions above floor at which objects were deleted.
	deletions map[Key]object.Revision
}

// maxDeletions bounds deletions on a watch without bookmarks.
const maxDeletions = 4096

// restart starts over after a list.
func (s *sequence) restart(at object.Revision) {
	*s = sequence{floor: at, last: at, deletions: map[Key]object.Revision{}}
}

// confirm records that all changes up to a revision were received.
func (s *sequence) confirm(at object.Revision) {
	s.last = max(s.last, at)
	if at > s.floor {
		s.floor = at
		clear(s.deletions)
	}
}

// admits records an event and reports whether it is neither a duplicate nor late.
func (s *sequence) admits(key Key, at object.Revision, deleted bool) bool {
	if at <= s.floor || at <= s.deletions[key] {
		return false
	}
	s.last = max(s.last, at)
	if deleted {
		if len(s.deletions) >= maxDeletions {
			s.confirm(s.last - 1)
		}
		s.deletions[key] = at
	}
	return true
}
