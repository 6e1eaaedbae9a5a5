package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/object"
)

// enqueue stages a proposal, for others to build on, and hands it to the log in its turn. mu is held.
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

// drain hands proposals to the log until there are none: all that came while the log was busy at once, with those of the
// writers who are just back from it.
func (s *Store) drain() {
	for {
		batch := s.batch()
		s.work.Go(s.tidy) // what the batch before left, while the log is busy
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

// batch takes the proposals that wait.
func (s *Store) batch() []*proposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.proposals
	s.proposals = nil
	s.gathering.queued.Store(0)
	s.draining = batch != nil
	return batch
}

// catchUp waits for what others have committed, on which the proposals are then judged again.
func (s *Store) catchUp(revision object.Revision) error {
	if err := s.state.await(s.ctx, revision); err != nil {
		return err
	}
	return errAgain
}

// settle decides the proposals of a batch, and tells their writers.
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

// accept publishes a batch that is durable. mu is held.
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

// reject takes back everything that is staged: the batch, which failed, and the proposals that were made since, whose
// revisions follow the failed ones and whose judgement may rest on them. Those are judged again. It returns them all. mu
// is held.
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

// follow publishes what others commit to the log, for as long as the store lives.
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

// adopt publishes a commit that another writer made. The store's own ones before it are published first; those that it
// has proposed since will be refused by the log, and judged again.
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

// adopted is what a commit that another writer made does here. mu is held.
func (s *Store) adopted(c log.Commit) (*proposal, error) {
	p := &proposal{commit: c, events: make([]*object.Event, 0, len(c.Changes))}
	for _, change := range c.Changes {
		if s.state.damaged[change.Key] != nil {
			p.discarded = append(p.discarded, change.Key)
			if change.Object == nil {
				continue
			}
		}
		e := &object.Event{Object: change.Object, Previous: s.state.objects.get(change.Key), Deleted: change.Object == nil}
		switch {
		case e.Deleted && e.Previous == nil:
			return nil, fmt.Errorf("commit %d of another writer deletes %s, which is absent", c.Revision, change.Key)
		case e.Deleted:
			var err error
			if e.Object, err = e.Previous.At(c.Revision); err != nil {
				return nil, err
			}
		case e.Object.Revision != c.Revision:
			return nil, fmt.Errorf("commit %d of another writer holds %s of revision %d", c.Revision, change.Key, e.Object.Revision)
		}
		p.events = append(p.events, e)
	}
	return p, nil
}
