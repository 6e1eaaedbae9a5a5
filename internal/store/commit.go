package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// proposal is a commit in progress: checked and stamped, but not durable.
type proposal struct {
	commit log.Commit
	events []*object.Event
	// discarded lists the keys of unreadable objects that the commit deletes: see DamagedError.
	discarded []object.Key
	// resolved is closed when the outcome is known; then err holds it.
	resolved chan struct{}
	err      error
}

// staged is the state of a key in a proposal; a nil object is a deletion.
type staged struct {
	object   *object.Object
	proposal *proposal
}

// Commit applies changes atomically. It returns their common revision once they are durable and visible to
// every reader. Each key may be named once. Commit returns *ConflictError if a key does not meet its change's
// precondition. If nothing changes, because the changes only delete absent objects or leave keys unchanged,
// there is no commit and the current revision is returned.
//
// If ctx ends before the outcome is known, the error says so; the changes may or may not be applied, and the
// store keeps their objects.
func (s *Store) Commit(ctx context.Context, changes ...Change) (object.Revision, error) {
	if err := validate(changes); err != nil {
		return 0, err
	}
	fresh := object.Revision(0)
	for {
		revision, err := s.commits.try(ctx, changes, &fresh)
		if !errors.Is(err, errRetry) {
			return revision, err
		}
	}
}

// try checks changes against the newest state and commits them. It returns errRetry if that state was not
// committed, or is older than fresh, the revision that it must include; fresh is 0 until an outcome
// depends on it.
func (c *committer) try(ctx context.Context, changes []Change, fresh *object.Revision) (object.Revision, error) {
	c.mu.Lock()
	if err := c.closed; err != nil {
		c.mu.Unlock()
		return 0, err
	}
	p, undecided, err := c.check(changes)
	switch {
	case undecided != nil:
		c.mu.Unlock()
		return 0, retry(undecided.wait(ctx))
	case p == nil:
		checked := c.state.current // mu prevents commits, so it cannot change
		c.mu.Unlock()
		return c.unchanged(ctx, checked, err, fresh)
	case c.instant:
		waiting, err := c.finish(ctx, p)
		c.mu.Unlock()
		wake(waiting)
		return p.outcome(err)
	}
	c.enqueue(p)
	c.mu.Unlock()
	if err := p.wait(ctx); err != nil {
		return 0, fmt.Errorf("commit: its outcome is unknown: %w", err)
	}
	return p.outcome(p.err)
}

// outcome returns the result of Commit for a proposal.
func (p *proposal) outcome(err error) (object.Revision, error) {
	if err != nil {
		return 0, err
	}
	return p.commit.Revision, nil
}

// unchanged returns the outcome of changes that result in no commit when checked at a published revision: an
// error, or the revision if there is nothing to do. With a shared log the outcome is valid only if the check
// included everything that others had committed before the call.
func (c *committer) unchanged(ctx context.Context, checked object.Revision, err error,
	fresh *object.Revision) (object.Revision, error) {
	if *fresh == 0 {
		current, unknown := c.log.Current(ctx)
		if unknown != nil {
			return 0, fmt.Errorf("commit: %w", unknown)
		}
		*fresh = current
	}
	switch {
	case checked < *fresh:
		return 0, retry(c.state.await(ctx, *fresh))
	case err != nil:
		return 0, err
	}
	return checked, nil
}

// retry returns errRetry, or an error if waiting was interrupted.
func retry(err error) error {
	if err != nil {
		return fmt.Errorf("commit: waiting for another one: %w", err)
	}
	return errRetry
}

// wait waits for the outcome.
func (p *proposal) wait(ctx context.Context) error {
	select {
	case <-p.resolved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// check makes a proposal of changes. It returns nil if there is nothing to do or a precondition fails. If
// that result depends on another proposal, even through a key whose precondition holds, check returns this
// proposal as undecided, and the caller waits for it: a response must not reveal what is not durable. The
// caller holds mu.
func (c *committer) check(changes []Change) (p, undecided *proposal, err error) {
	events := make([]*object.Event, 0, len(changes))
	var discarded []object.Key
	for _, change := range changes {
		before, by := c.newest(change.Key)
		if by != nil {
			undecided = by
		} else if discard, err := c.discards(change); err != nil {
			return nil, undecided, err
		} else if discard {
			discarded = append(discarded, change.Key)
			continue
		}
		if !change.Expect.holds(before) {
			return nil, undecided, &ConflictError{Key: change.Key, Actual: before, expected: change.Expect}
		}
		if !change.Unchanged && (change.Object != nil || before != nil) {
			events = append(events, &object.Event{Object: cmp.Or(change.Object, change.Last), Previous: before,
				Deleted: change.Object == nil})
		}
	}
	if len(events)+len(discarded) == 0 {
		return nil, undecided, nil
	}
	p, err = propose(c.tip+1, events, discarded)
	return p, nil, err
}

// newest returns the newest state of a key, nil if absent, and the proposal that wrote it, nil if it is
// durable. The caller holds mu, so that nothing is published.
func (c *committer) newest(key object.Key) (*object.Object, *proposal) {
	if staged, ok := c.staged[key]; ok {
		return staged.object, staged.proposal
	}
	return c.state.objects.get(key), nil
}

// propose stamps the objects of events. For a deletion without an object it uses the last state at the new
// revision; the deletion of an unreadable object has no event.
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

// withdraw resets the objects to uncommitted, so that their writer can use them again.
func (p *proposal) withdraw() {
	for _, e := range p.events {
		if e.Object != nil {
			e.Object.Revision = 0
		}
	}
}

// finish commits a proposal to an instant log and returns the channels to close. The caller holds mu.
func (c *committer) finish(ctx context.Context, p *proposal) ([]chan struct{}, error) {
	if err := c.log.Append(ctx, []log.Commit{p.commit}); err != nil {
		p.withdraw()
		return nil, fmt.Errorf("commit: %w", err)
	}
	c.tip = p.commit.Revision
	waiting := c.state.publish([]*proposal{p})
	c.compact()
	return waiting, nil
}

// compact does the maintenance that publishing defers.
func (c *committer) compact() { c.log.Compact(c.state.compact()) }
