package garbagecollector

import (
	"sync"
	"time"

	revisions "github.com/bowline-dev/bowline/internal/object"
)

// failureStreak records since when lists of a kind have failed. The zero value means that the last one succeeded.
type failureStreak struct {
	mu    sync.Mutex
	since time.Time          // time of the first failure; zero if the last list succeeded
	at    revisions.Revision // revision of the kind's cache at that time
}

// note records the result of a list and the revision of the kind's cache. If the cache has advanced since the
// first failure, the server has answered in the meantime and the lapse starts anew.
func (l *failureStreak) note(err error, at revisions.Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.since = time.Time{}
	case l.since.IsZero() || l.at != at:
		l.since, l.at = time.Now(), at
	}
}

// length returns how long the lapse has lasted, and 0 if there is none.
func (l *failureStreak) length() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return time.Since(l.since)
}
