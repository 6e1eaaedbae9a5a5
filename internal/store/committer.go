package store

import (
	"cmp"
	"context"
	"sync"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// committer is the write side of a store: it checks changes against the newest state, whether durable or
// pending, appends them to the log, and publishes them in the state once they are durable. It also publishes
// the commits of other writers of a shared log.
type committer struct {
	log   log.Log
	state *state

	// mu orders commits and guards the fields from closed to batchWait. Publishing requires it too, so its holder may
	// read the state's objects without the state's lock. It is never held while waiting for an append or a proposal,
	// and never acquired while the state's lock is held.
	mu sync.Mutex
	// closed is the error for further commits; nil while the store is open.
	closed error
	// instant is the log's Instant. If it is true, every commit is durable before mu is released, and the fields
	// from staged to batchWait are unused.
	instant bool
	// tip is the revision of the last proposal, or of the last commit if none is pending.
	tip object.Revision
	// staged holds the newest state of each key that pending proposals change.
	staged map[object.Key]staged
	usage  usage
	// proposals are queued for the log; draining reports whether a drain goroutine is running.
	proposals []*proposal
	draining  bool
	batchWait batchWait

	// work counts the goroutines; stop cancels ctx, which ends their waits.
	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

func newCommitter(l log.Log, state *state, q Quota) committer {
	return committer{log: l, state: state, instant: l.Instant(), staged: map[object.Key]staged{}, usage: newUsage(q)}
}

// start starts the goroutine that follows other writers. The state must be loaded.
func (c *committer) start() {
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.work.Go(c.follow)
}

// err returns why commits are rejected, nil while they are accepted.
func (c *committer) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close rejects further commits, ends those in progress, and waits for the goroutines.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = cmp.Or(c.closed, ErrClosed)
	c.mu.Unlock()
	c.stop()
	c.work.Wait()
}
