package informer

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is how long to wait after a failure: twice as long each time, less up to half of that by chance, so that the clients
// of a server that was away do not come back all at once.
type backoff struct {
	first, most time.Duration
	current     time.Duration
}

// next is the wait after one more failure.
func (b *backoff) next() time.Duration {
	b.current = min(max(b.first, 2*b.current), b.most)
	return b.current/2 + rand.N(b.current/2+1)
}

// reset ends a row of failures.
func (b *backoff) reset() { b.current = 0 }

// spread is a wait of any length up to the longest.
func spread(longest time.Duration) time.Duration { return rand.N(longest + 1) }

// sleep waits for a time or for the end of ctx.
func sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
