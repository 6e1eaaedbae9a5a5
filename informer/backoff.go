package informer

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff computes waits after failures: each doubles the previous one, and is reduced by up to half at
// random, so that the clients of a restarted server do not return all at once.
type backoff struct {
	first, longest time.Duration
	current        time.Duration
}

// next returns the wait after another failure.
func (b *backoff) next() time.Duration {
	b.current = min(max(b.first, 2*b.current), b.longest)
	return b.current/2 + rand.N(b.current/2+1)
}

// reset ends a series of failures.
func (b *backoff) reset() { b.current = 0 }

// spread returns a random wait up to longest.
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
