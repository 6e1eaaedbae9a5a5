package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// enqueue stages a proposal, which later proposals may build on, and queues it for the log. The caller
// holds mu.
func (c *committer) enqueue(p *proposal) {
	p.resolved = make(chan struct{})
	c.tip = p.commit.Revision
	c.usage.staged.add(p.events, 1)
	c.proposals = append(c.proposals, p)
	c.batchWait.queued.Add(1)
	for _, change := range p.commit.Changes {
		c.staged[change.Key] = staged{object: change.Object, proposal: p}
	}
	if !c.draining {
		c.draining = true
		c.work.Go(c.drain)
	}
}

// drain appends the queued proposals to the log, in batches, until none is queued. Proposals that arrive during an
// append form the next batch, which also waits briefly for the writers of that append to commit again.
func (c *committer) drain() {
	for {
		batch := c.batch()
		c.work.Go(c.compactLog) // after the previous batch, concurrently with the next append
		if batch == nil {
			return
		}
		commits := make([]log.Commit, len(batch))
		for i, p := range batch {
			commits[i] = p.commit
		}
		start := time.Now()
		err := c.log.Append(c.ctx, commits)
		took := time.Since(start)
		var behind *log.BehindError
		if errors.As(err, &behind) {
			err = c.awaitOthers(behind.Current)
		}
		if err != nil && c.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrClosed, err)
		}
		resolved := len(batch)
		c.resolve(batch, err)
		c.batchWait.wait(resolved, took)
	}
}

// batch removes and returns the queued proposals.
func (c *committer) batch() []*proposal {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.proposals
	c.proposals = nil
	c.batchWait.queued.Store(0)
	c.draining = batch != nil
	return batch
}

// awaitOthers waits until the commits of other writers up to a revision are published. It returns errRetry, so that
// the writers of the rejected proposals check their changes again.
func (c *committer) awaitOthers(revision object.Revision) error {
	if err := c.state.await(c.ctx, revision); err != nil {
		return err
	}
	return errRetry
}

// resolve publishes a batch, or withdraws it if err is not nil, and notifies the writers of its proposals.
func (c *committer) resolve(batch []*proposal, err error) {
	c.mu.Lock()
	var waiting []chan struct{}
	if err == nil {
		waiting = c.accept(batch)
	} else {
		batch = c.reject(batch, err)
	}
	c.mu.Unlock()
	for _, p := range batch {
		close(p.resolved)
	}
	wake(waiting)
}

// accept publishes a durable batch. The caller holds mu.
func (c *committer) accept(batch []*proposal) []chan struct{} {
	for _, p := range batch {
		c.usage.publish(p, true)
		for _, change := range p.commit.Changes {
			if c.staged[change.Key].proposal == p {
				delete(c.staged, change.Key)
			}
		}
	}
	return c.state.publish(batch)
}

// reject withdraws all staged proposals and returns them. The proposals of the failed batch end with err.
// Proposals staged since are retried: their revisions follow the failed ones, and they may build on failed proposals.
// The caller holds mu.
func (c *committer) reject(batch []*proposal, err error) []*proposal {
	for _, p := range batch {
		p.err = fmt.Errorf("commit: %w", err)
	}
	for _, p := range c.proposals {
		p.err = errRetry
	}
	batch = append(batch, c.proposals...)
	for _, p := range batch {
		p.withdraw()
		c.usage.staged.add(p.events, -1)
	}
	c.proposals = nil
	c.batchWait.queued.Store(0)
	clear(c.staged)
	c.tip = c.state.published()
	return batch
}

// follow publishes the commits of other writers until the store is closed.
func (c *committer) follow() {
	err := c.log.Follow(c.ctx, c.state.published(), c.adopt)
	if err == nil || c.ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("%w: its log failed: %w", ErrClosed, err)
	c.mu.Lock()
	c.closed = err
	c.mu.Unlock()
	c.state.close(err)
}

// adopt publishes a commit of another writer, once all earlier commits are published. The log rejects the proposals
// that this store staged in the meantime, because their revisions are taken; they are retried.
func (c *committer) adopt(commit log.Commit) error {
	if err := c.state.await(c.ctx, commit.Revision-1); err != nil {
		return err
	}
	c.mu.Lock()
	if current := c.state.published(); current != commit.Revision-1 {
		c.mu.Unlock()
		return fmt.Errorf("commit %d of another writer does not follow %d", commit.Revision, current)
	}
	p, err := c.proposalOf(commit)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	if len(c.staged) == 0 {
		c.tip = commit.Revision
	}
	c.usage.publish(p, false)
	waiting := c.state.publish([]*proposal{p})
	c.mu.Unlock()
	c.compactLog()
	wake(waiting)
	return nil
}

// proposalOf converts a commit of another writer to a proposal. The caller holds mu.
func (c *committer) proposalOf(commit log.Commit) (*proposal, error) {
	p := &proposal{commit: commit, events: make([]*object.Event, 0, len(commit.Changes))}
	for _, change := range commit.Changes {
		if c.state.damaged[change.Key] != nil {
			p.discarded = append(p.discarded, change.Key)
			if change.Object == nil {
				continue
			}
		}
		e := &object.Event{Object: change.Object, Previous: c.state.objects.get(change.Key),
			Deleted: change.Object == nil}
		switch {
		case e.Deleted && e.Previous == nil:
			return nil, fmt.Errorf("commit %d of another writer deletes %s, which is absent", commit.Revision,
				change.Key)
		case e.Deleted:
			var err error
			if e.Object, err = e.Previous.At(commit.Revision); err != nil {
				return nil, err
			}
		case e.Object.Revision != commit.Revision:
			return nil, fmt.Errorf("commit %d of another writer has %s at revision %d", commit.Revision, change.Key,
				e.Object.Revision)
		}
		p.events = append(p.events, e)
	}
	return p, nil
}
