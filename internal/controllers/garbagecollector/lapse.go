package garbagecollector

import (
	"sync"
	"time"

	revisions "github.com/bowline-dev/bowline/object"
)

// lapse is since when nobody has been able to ask the server for the objects of a kind. The zero value is that somebody has.
type lapse struct {
	mu    sync.Mutex
	since time.Time          // when it failed first; zero when it did not fail last
	at    revisions.Revision // what the cache of the kind had come to then
}

// note takes down what came of asking, and what the cache has come to. Where that has gone on, the server has answered since it
// failed last, though nobody asked.
func (l *lapse) note(err error, at revisions.Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.since = time.Time{}
	case l.since.IsZero() || l.at != at:
		l.since, l.at = time.Now(), at
	}
}

// length is how long it has lasted, 0 where it has ended.
func (l *lapse) length() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return time.Since(l.since)
}
