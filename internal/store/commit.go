package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/object"
)

// proposal is a commit on its way: judged and stamped, but not durable.
type proposal struct {
	commit log.Commit
	events []*object.Event
	// discarded are the keys of objects that cannot be read and are deleted: see DamagedError.
	discarded []object.Key
	// settled is closed when the outcome is known; err is it.
	settled chan struct{}
	err     error
}

// staged is what a proposal makes of a key; a nil object deletes.
type staged struct {
	object   *object.Object
	proposal *proposal
}

// Commit makes changes, all or none, and returns the revision that they have in common, once they are durable and every
// reader sees them. Each key may be named once. *ConflictError says that a key is not as its change expects. Where
// nothing changes, since all that was asked is to delete what is absent or to leave a key as it is, there is no commit, and the
// revision is the current one.
//
// When ctx ends before the outcome is known the changes may or may not come to be, as the error says, and their objects
// stay the store's.
func (s *Store) Commit(ctx context.Context, changes ...Change) (object.Revision, error) {
	if err := validate(changes); err != nil {
		return 0, err
	}
	fresh := object.Revision(0)
	for {
		revision, err := s.try(ctx, changes, &fresh)
		if !errors.Is(err, errAgain) {
			return revision, err
		}
	}
}

// try judges changes against the newest state and sees them through. errAgain when that state was not to be, or was not
// new enough: fresh is the revision that it must have, 0 until that matters.
func (s *Store) try(ctx context.Context, changes []Change, fresh *object.Revision) (object.Revision, error) {
	s.mu.Lock()
	if err := s.closed; err != nil {
		s.mu.Unlock()
		return 0, err
	}
	p, undecided, err := s.judge(changes)
	switch {
	case undecided != nil:
		s.mu.Unlock()
		return 0, again(undecided.wait(ctx))
	case p == nil:
		judged := s.state.current // which nobody changes while mu is held
		s.mu.Unlock()
		return s.unchanged(ctx, judged, err, fresh)
	case s.instant:
		waiting, err := s.finish(ctx, p)
		s.mu.Unlock()
		wake(waiting)
		return p.outcome(err)
	}
	s.enqueue(p)
	s.mu.Unlock()
	if err := p.wait(ctx); err != nil {
		return 0, fmt.Errorf("commit: its outcome is unknown: %w", err)
	}
	return p.outcome(p.err)
}

// outcome is what Commit returns of a proposal.
func (p *proposal) outcome(err error) (object.Revision, error) {
	if err != nil {
		return 0, err
	}
	return p.commit.Revision, nil
}

// unchanged is the outcome of changes that made no commit when they were judged at a published revision: an error, or
// nothing to do. On a shared log that holds only if the judgement had seen what others committed before the call.
func (s *Store) unchanged(ctx context.Context, judged object.Revision, err error, fresh *object.Revision) (object.Revision, error) {
	if *fresh == 0 {
		current, unknown := s.log.Current(ctx)
		if unknown != nil {
			return 0, fmt.Errorf("commit: %w", unknown)
		}
		*fresh = current
	}
	switch {
	case judged < *fresh:
		return 0, again(s.state.await(ctx, *fresh))
	case err != nil:
		return 0, err
	}
	return judged, nil
}

// again is errAgain, unless waiting was cut short.
func again(err error) error {
	if err != nil {
		return fmt.Errorf("commit: waiting for another one: %w", err)
	}
	return errAgain
}

// wait waits for the outcome.
func (p *proposal) wait(ctx context.Context) error {
	select {
	case <-p.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// judge makes a proposal of changes, nil when there is nothing to do or an expectation fails. Where that rests on
// another proposal, even for a key whose expectation holds, nothing can be said until that one is decided, and it is
// returned: an answer must not show what is not durable. mu is held.
func (s *Store) judge(changes []Change) (p, undecided *proposal, err error) {
	events := make([]*object.Event, 0, len(changes))
	var discarded []object.Key
	for _, c := range changes {
		before, by := s.before(c.Key)
		if by != nil {
			undecided = by
		} else if discard, err := s.discards(c); err != nil {
			return nil, undecided, err
		} else if discard {
			discarded = append(discarded, c.Key)
			continue
		}
		if !c.Expect.holds(before) {
			return nil, undecided, &ConflictError{Key: c.Key, Actual: before, expected: c.Expect}
		}
		if !c.Unchanged && (c.Object != nil || before != nil) {
			events = append(events, &object.Event{Object: cmp.Or(c.Object, c.Last), Previous: before, Deleted: c.Object == nil})
		}
	}
	if len(events)+len(discarded) == 0 {
		return nil, undecided, nil
	}
	p, err = propose(s.tip+1, events, discarded)
	return p, nil, err
}

// before is the newest state of a key, nil for absent, and the proposal that made it, nil when it is durable. mu is held,
// so that nobody publishes.
func (s *Store) before(key object.Key) (*object.Object, *proposal) {
	if staged, ok := s.staged[key]; ok {
		return staged.object, staged.proposal
	}
	return s.state.objects.get(key), nil
}

// propose stamps the objects of events. Of a deletion that has none it makes the object: the last state, at the new revision;
// of what cannot be read there is none.
func propose(revision object.Revision, events []*object.Event, discarded []object.Key) (*proposal, error) {
	p := &proposal{
		events: events, discarded: discarded,
		commit: log.Commit{Revision: revision, Changes: make([]log.Change, len(events), len(events)+len(discarded))},
	}
	for i, e := range events {
		var err error
		if e.Object == nil {
			e.Object, err = e.Previous.At(revision)
		} else {
			err = e.Object.Stamp(revision)
		}
		if err != nil {
			p.withdraw()
			return nil, fmt.Errorf("commit: %w", err)
		}
		if p.commit.Changes[i].Key = e.Key(); !e.Deleted {
			p.commit.Changes[i].Object = e.Object
		}
		if e.Previous != nil {
			p.commit.Changes[i].Previous = e.Previous.Revision
		}
	}
	for _, key := range discarded {
		p.commit.Changes = append(p.commit.Changes, log.Change{Key: key})
	}
	return p, nil
}

// withdraw gives the objects back to their writer, uncommitted.
func (p *proposal) withdraw() {
	for _, e := range p.events {
		if e.Object != nil {
			e.Object.Revision = 0
		}
	}
}

// finish sees a proposal through on an instant log, and returns whom to wake. mu is held.
func (s *Store) finish(ctx context.Context, p *proposal) ([]chan struct{}, error) {
	if err := s.log.Append(ctx, []log.Commit{p.commit}); err != nil {
		p.withdraw()
		return nil, fmt.Errorf("commit: %w", err)
	}
	s.tip = p.commit.Revision
	waiting := s.state.publish([]*proposal{p})
	s.tidy()
	return waiting, nil
}

// tidy does what publishing leaves for later.
func (s *Store) tidy() { s.log.Compact(s.state.tidy()) }
