package garbagecollector

import (
	"sync"
	"time"

	revisions "github.com/bowline-dev/bowline/internal/object"
)

// retryInterval is the minimum time between the starts of two lists of a kind once its lists have failed for maxWait. A
// server that hangs would otherwise delay each deletion anew.
const retryInterval = 30 * time.Second

// failureStreak records since when lists of a kind have failed. The zero value means that the last one succeeded.
type failureStreak struct {
	mu       sync.Mutex
	since    time.Time          // time of the first failure; zero if the last list succeeded
	revision revisions.Revision // revision of the kind's cache at that time
	err      error              // last failure
	begun    time.Time          // start of the last list
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
	s.err = err
}

// begin records the start of a list.
func (s *failureStreak) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Now()
}

// postponed returns the last failure if it is too early to list again: the streak has lasted for maxWait, the last list
// started less than retryInterval ago, and the kind's cache, whose revision is at, has not advanced since.
func (s *failureStreak) postponed(at revisions.Revision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || s.revision != at || time.Since(s.since) < maxWait || time.Since(s.begun) >= retryInterval {
		return nil
	}
	return s.err
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
