package garbagecollector

import (
	"sync"
	"time"

	revisions "github.com/bowline-dev/bowline/internal/object"
)

// failureStreak records since when lists of a kind have failed. The zero value means that the last one succeeded.
type failureStreak struct {
	mu       sync.Mutex
	since    time.Time          // time of the first failure; zero if the last list succeeded
	revision revisions.Revision // revision of the kind's cache at that time
}

// note records the result of a list and the revision of the kind's cache. If the cache has advanced since the
// first failure, the server has answered in the meantime and the streak starts anew.
func (s *failureStreak) note(err error, at revisions.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.since = time.Time{}
	case s.since.IsZero() || s.revision != at:
		s.since, s.revision = time.Now(), at
	}
}

// length returns how long the streak has lasted, and 0 if there is none.
func (s *failureStreak) length() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return 0
	}
	return time.Since(s.since)
}
