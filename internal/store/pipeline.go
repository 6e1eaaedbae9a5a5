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
func (s *Store) enqueue(p *proposal) {
	p.settled = make(chan struct{})
	s.tip = p.commit.Revision
	s.proposals = append(s.proposals, p)
	s.gathering.queued.Add(1)
	for _, c := range p.commit.Changes {
		s.staged[c.Key] = staged{object: c.Object, proposal: p}
	}
	if !s.draining {
		s.draining = true
		s.work.Go(s.drain)
	}
}

// drain appends proposals to the log until there are none. Each batch contains everything that arrived during
// the previous append, and briefly waits for the writers of that append to return.
func (s *Store) drain() {
	for {
		batch := s.batch()
		s.work.Go(s.tidy) // maintenance after the previous batch, concurrent with the append
		if batch == nil {
			return
		}
		commits := make([]log.Commit, len(batch))
		for i, p := range batch {
			commits[i] = p.commit
		}
		start := time.Now()
		err := s.log.Append(s.ctx, commits)
		took := time.Since(start)
		var behind *log.BehindError
		if errors.As(err, &behind) {
			err = s.catchUp(behind.Current)
		}
		if err != nil && s.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrClosed, err)
		}
		answered := len(batch)
		s.settle(batch, err)
		s.gathering.wait(answered, took)
	}
}

// batch removes and returns the queued proposals.
func (s *Store) batch() []*proposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.proposals
	s.proposals = nil
	s.gathering.queued.Store(0)
	s.draining = batch != nil
	return batch
}

// catchUp waits for the commits of other writers; the proposals are then checked again.
func (s *Store) catchUp(revision object.Revision) error {
	if err := s.state.await(s.ctx, revision); err != nil {
		return err
	}
	return errAgain
}

// settle resolves the proposals of a batch and notifies their writers.
func (s *Store) settle(batch []*proposal, err error) {
	s.mu.Lock()
	var waiting []chan struct{}
	if err == nil {
		waiting = s.accept(batch)
	} else {
		batch = s.reject(batch, err)
	}
	s.mu.Unlock()
	for _, p := range batch {
		close(p.settled)
	}
	wake(waiting)
}

// accept publishes a durable batch. The caller holds mu.
func (s *Store) accept(batch []*proposal) []chan struct{} {
	for _, p := range batch {
		for _, c := range p.commit.Changes {
			if s.staged[c.Key].proposal == p {
				delete(s.staged, c.Key)
			}
		}
	}
	return s.state.publish(batch)
}

// reject withdraws everything that is staged: the failed batch, and the proposals made since, whose revisions
// follow the failed ones and which may depend on them. The latter are retried. reject returns all of them.
// The caller holds mu.
func (s *Store) reject(batch []*proposal, err error) []*proposal {
	for _, p := range batch {
		p.err = fmt.Errorf("commit: %w", err)
	}
	for _, p := range s.proposals {
		p.err = errAgain
	}
	batch = append(batch, s.proposals...)
	for _, p := range batch {
		p.withdraw()
	}
	s.proposals = nil
	s.gathering.queued.Store(0)
	clear(s.staged)
	s.tip = s.Current()
	return batch
}

// follow publishes the commits of other writers until the store is closed.
func (s *Store) follow() {
	err := s.log.Follow(s.ctx, s.Current(), s.adopt)
	if err == nil || s.ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("%w: its log failed: %w", ErrClosed, err)
	s.mu.Lock()
	s.closed = err
	s.mu.Unlock()
	s.state.close(err)
}

// adopt publishes a commit of another writer, after this store's earlier ones. The log will reject the
// proposals that the store has made since, and they are retried.
func (s *Store) adopt(c log.Commit) error {
	if err := s.state.await(s.ctx, c.Revision-1); err != nil {
		return err
	}
	s.mu.Lock()
	if current := s.Current(); current != c.Revision-1 {
		s.mu.Unlock()
		return fmt.Errorf("commit %d of another writer does not follow %d", c.Revision, current)
	}
	p, err := s.adopted(c)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	if len(s.staged) == 0 {
		s.tip = c.Revision
	}
	waiting := s.state.publish([]*proposal{p})
	s.mu.Unlock()
	s.tidy()
	wake(waiting)
	return nil
}

// adopted converts a commit of another writer to a proposal. The caller holds mu.
func (s *Store) adopted(c log.Commit) (*proposal, error) {
	p := &proposal{commit: c, events: make([]*object.Event, 0, len(c.Changes))}
	for _, change := range c.Changes {
		if s.state.damaged[change.Key] != nil {
			p.discarded = append(p.discarded, change.Key)
			if change.Object == nil {
				continue
			}
		}
		e := &object.Event{Object: change.Object, Previous: s.state.objects.get(change.Key),
			Deleted: change.Object == nil}
		switch {
		case e.Deleted && e.Previous == nil:
			return nil, fmt.Errorf("commit %d of another writer deletes %s, which is absent", c.Revision, change.Key)
		case e.Deleted:
			var err error
			if e.Object, err = e.Previous.At(c.Revision); err != nil {
				return nil, err
			}
		case e.Object.Revision != c.Revision:
			return nil, fmt.Errorf("commit %d of another writer holds %s of revision %d", c.Revision, change.Key,
				e.Object.Revision)
		}
		p.events = append(p.events, e)
	}
	return p, nil
}
